"""Architectures whose `config.json` is read by rules that were made for them (`model_type`)."""

from __future__ import annotations

from typing import Any

from kvtui.hardware.hffields import typed

LIKE_LLAMA = (
    *("llama", "mistral", "ministral", "mixtral", "yi", "aquila", "arcee", "apertus", "solar", "seed_oss"),
    *("qwen", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl"),
    *("qwen2_5_vl_text", "qwen3_vl_text", "qwen3_vl_moe_text", "qwen3_omni_moe_text", "mimo", "dots1"),
    *("gemma", "gemma2", "gemma3", "gemma3_text", "gemma3n_text", "gemma4", "gemma4_text", "vaultgemma"),
    *("phi", "phi3", "phimoe", "stablelm", "starcoder2", "olmo", "olmo2", "olmo3", "olmoe", "smollm3"),
    *("glm", "glm4", "glm4_moe", "chatglm", "internlm", "internlm2", "internlm3", "baichuan", "xverse"),
    *("granite", "granitemoe", "granitemoeshared", "exaone", "exaone4", "cohere", "cohere2", "ernie4_5"),
    *("ernie4_5_moe", "minicpm", "minimax_m2", "minimax_m3", "step3p5", "step3p7", "gpt_oss", "llama4_text"),
    *("hunyuan_v1_dense", "hunyuan_v1_moe", "orion", "telechat2", "bailing_moe", "nemotron"),
)
OLDER = (
    *("gpt2", "gptj", "gpt_j", "gpt_neo", "gpt_neox", "gpt_bigcode", "opt", "bloom", "mpt", "falcon"),
    *("codegen", "persimmon", "dbrx", "RefinedWeb", "RefinedWebModel"),
)
LATENT = ("deepseek", "deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa", "glm4_moe_lite")
HYBRID = (
    *("jamba", "nemotron_h", "granitemoehybrid", "qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe"),
    *("qwen3_5_moe_text", "kimi_linear", "minimax", "minimax_text_01", "minimax_m1", "lfm2", "lfm2_moe"),
    *("recurrent_gemma", "bamba", "falcon_h1", "minicpm3"),
)
KNOWN = frozenset((*LIKE_LLAMA, *OLDER, *LATENT, *HYBRID))


def assumed_of(text: dict[str, Any]) -> str:
    """That an architecture is not known, whatever names its fields have; "" for one that is."""
    kind = typed(text, "model_type", str)
    if kind in KNOWN:
        return ""
    named = f"model_type {str(kind)[:40]!r}" if kind else "a config.json without model_type"
    return f"{named} is not known: read as a model of the Llama family"
