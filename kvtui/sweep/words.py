"""Settings in words for readers who never saw the command line."""

from __future__ import annotations

from typing import Any

SETTINGS = {
    "trace": "trace",
    "trace_sha256": "trace sha256",
    "model": "model",
    "gpu": "GPU",
    "manager": "memory",
    "tp": "GPUs that share the model",
    "block_size": "tokens a block",
    "kv_dtype": "type of K and V",
    "utilization": "share of GPU memory used",
    "max_num_seqs": "requests at once at most",
    "max_num_batched_tokens": "tokens a step at most",
    "max_len": "tokens of a request at most",
    "engine": "step times of",
    "vllm": "rules of vLLM",
    "limit": "requests of the trace",
    "scale_rate": "requests come so many times as fast",
    "until_s": "simulated seconds at most",
    "slots": "tokens of 16 bits in KV memory",
    "pool_from": "KV memory told by",
    "model_sha256": "model sha256",
    "engine_sha256": "step times sha256",
}
UNSAID = {
    "max_num_seqs": "vLLM's own",
    "max_num_batched_tokens": "vLLM's own",
    "max_len": "as the trace needs",
    "limit": "all",
    "scale_rate": "as recorded",
    "until_s": "no limit",
    "slots": "as estimated",
}


def setting(name: str, value: Any) -> str:
    """The value of a setting; where it was not set, what holds then."""
    if value is None:
        return UNSAID.get(name, "default")
    if name == "kv_dtype" and value == "auto":
        return "16 bits"
    return f"{value:g}" if isinstance(value, float) else str(value)
