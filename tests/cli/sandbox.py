"""A folder of files that a user might name, good and bad, and what became of them."""

from __future__ import annotations

import json
from pathlib import Path

ROWS = [
    {
        "timestamp": 400 * n,
        "input_length": 40 + 37 * n % 900,
        "output_length": 3 + n % 40,
        "hash_ids": [n % 3],
    }
    for n in range(24)
]
MOONCAKE = "".join(json.dumps(row) + "\n" for row in ROWS)
CSV = "arrival,prompt_tokens,output_tokens\n" + "".join(
    f"{row['timestamp'] / 1000},{row['input_length']},{row['output_length']}\n" for row in ROWS
)
STEPS = (
    "gpu,model,tp,phase,scope,batch_size,context_len,measured_ms\na10g,llama-3.1-8b,1,decode,step,8,512,31\n"
)
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
}
CASE = {"id": "a", "arrival_step": 0, "prompt_tokens": 4, "output_tokens": 2}
TEXTS = {
    "good.csv": CSV,
    "good.jsonl": MOONCAKE,
    "cut.csv": CSV[: len(CSV) // 2 - 3],
    "cut.jsonl": MOONCAKE[: len(MOONCAKE) // 2 - 9],
    "empty.csv": "",
    "heading.csv": CSV[: CSV.index("\n") + 1],
    "no.txt": "nothing of the kind\n",
    "ünï 日本 \N{ROCKET}.csv": CSV,
    "folder/a.jsonl": MOONCAKE,
    "folder/b.jsonl": MOONCAKE,
    "config.json": json.dumps(CONFIG),
    "case.json": json.dumps({"num_gpu_blocks": 9, "block_size": 4}),
    "case.jsonl": json.dumps(CASE) + "\n",
    "steps.csv": STEPS,
    "server.log": "INFO 01-01 GPU KV cache size: 130,528 tokens\n",
    "grid.toml": "block_size = [16, 32]\n",
    "old.html": "<p>mine</p>\n",
    "old.jsonl": '{"mine": 1}\n',
}
BINARY = "binary.bin"
FILES = (
    *TEXTS,
    BINARY,
    "folder",
    "bare",
    "run.kvtui",
    "half.kvtui",
    "nowhere.csv",
    "good.csv/x",
    "/dev/null",
)
OUTPUTS = (
    *("new.html", "new.csv", "new.json", "new.trace.json", "new.kvtui", "new.jsonl", "new.jsonl.gz", "new"),
    *(
        "ünï/日本.csv",
        "folder/new.html",
        "folder/./new.csv",
        "bare",
        "n" * 300 + ".csv",
        "old.html",
        "old.jsonl",
    ),
    *("good.csv", "good.jsonl", "-", "/dev/full", "run.kvtui"),
)


def furnish(folder: Path) -> None:
    """Put them there; recordings are made by whoever can run kvtui."""
    for name in ("folder", "bare", "ünï"):
        (folder / name).mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, "utf-8")
    (folder / BINARY).write_bytes(bytes(range(256)) * 8)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file there is."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
