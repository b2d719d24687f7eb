"""More of the real vLLM scheduler, recorded without a model: speculative decoding, sliding windows, hybrids.

    python oracle_more.py --batch CASE_DIR...     like vllm_oracle.py, with an interpreter that has vLLM

Everything that `vllm_oracle.py` (in the reference material) reads and writes is read and written here in the
same way; without the options below the lines are the same. Its classes do the driving; this file builds
richer configurations, all of them vLLM's own objects, and plays the draft model. Written for vLLM 0.32
and 0.33; where one window is the only group of layers and its drafter reads several tokens ahead, 0.33 itself
stops with an IndexError.

CONFIG, more options
  spec_method     null, "ngram", "draft_model", "pard" (a draft model that drafts in parallel), "eagle",
                  "eagle3", "mtp" (one module used again and again), "mtp_modules" (as many modules as
                  drafts), "dflash"
  num_speculative_tokens  3   drafts per request and step, at most
  layers          null   the attention layers in order of registration, e.g. ["full", "sliding:8"]; "*2"
                  behind one gives it twice the KV heads; "mamba" keeps a state, "mamba2" one that a step can
                  also save where a block ends inside it. vLLM's own get_kv_cache_groups makes the groups.
                  null = one full-attention layer.
  kv_cache_layout "LBNHC"   matters only where pages differ in size
  prefix_cache_retention_interval  0   null = every block of a window is cached

TRACE, more per request
  drafts          [n, ...]  how many tokens are drafted after the 1st, 2nd, ... step that yields tokens (only
                  without async_scheduling); the last one repeats; default num_speculative_tokens
  accept          [n, ...]  how many drafts the 1st, 2nd, ... verifying step accepts (capped by the drafts it
                  verifies); the last one repeats; default 0. A step that verifies drafts yields accepted + 1
                  tokens; placeholders (see `padded`) are never accepted and are not a verifying step.

DECISIONS, more per line; all are left out when empty
  spec            {id: drafts scheduled for verification}, part of what `scheduled` counts
  padded          ids admitted with placeholders in place of drafts: a decode made as wide as the others
  groups          (first line only, with `layers`) [[kind, window, block size, layers, draft group], ...]
  emitted         {id: tokens that the model returned} where not 1, in the step that processes the answer
  rejected_drafts {id: n}  taken back from num_computed_tokens in that step
  drafted         {id: n}  drafts that wait for the next step, after this one
  spec_stats      {num_drafts, num_draft_tokens, num_accepted_tokens}: what the step adds to vLLM's counters
With `layers`, `blocks` is {id: [table length of each group]}, `new_blocks` {id: [[ids], ...]}, and there is
  tables          {id: [[ids], ...]}  whole tables after schedule(); 0 is the null block
  nulled          {id: [[positions], ...]}  entries that became the null block in this schedule()
"""

from __future__ import annotations

import functools
import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

Config = dict[str, Any]
Line = dict[str, Any]
SHARED_ORACLE = Path(__file__).resolve().parents[3] / "shared" / "vllm-decisions" / "vllm_oracle.py"
MORE = {
    "spec_method": None,
    "num_speculative_tokens": 3,
    "layers": None,
    "kv_cache_layout": "LBNHC",
    "prefix_cache_retention_interval": 0,
}


def load_base(path: Path = SHARED_ORACLE) -> ModuleType:
    """The shared oracle as a module."""
    spec = importlib.util.spec_from_file_location("vllm_oracle_base", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


base = load_base()
EOS = base.EOS
STATES = ("mamba", "mamba2")  # layers that keep one state in place of K and V


# ---------------------------------------------------------------------------- configurations
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 512,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 1 << 21,
    "torch_dtype": "float32",
    "bos_token_id": 1,
    "eos_token_id": 2,
    "tie_word_embeddings": False,
}
DEEPSEEK = LLAMA | {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "q_lora_rank": None,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    "n_routed_experts": 4,
    "num_experts_per_tok": 1,
    "n_group": 1,
    "topk_group": 1,
    "moe_intermediate_size": 16,
}
DFLASH = LLAMA | {
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "dflash_config": {"target_layer_ids": [0], "mask_token_id": 1},
}


@functools.cache
def folder(kind: str, modules: int = 1) -> str:
    """A model folder that holds nothing but a configuration."""
    models = {"llama": LLAMA, "dflash": DFLASH, "deepseek": DEEPSEEK | {"num_nextn_predict_layers": modules}}
    path = tempfile.mkdtemp(prefix="oracle-model-")
    Path(path, "config.json").write_text(json.dumps(models[kind]))
    return path


def model_config(cfg: Config) -> Any:
    """The target model: a llama, or where the drafter is part of the model, one that has such modules."""
    from vllm.config import ModelConfig

    mtp = cfg["spec_method"] in ("mtp", "mtp_modules")
    modules = cfg["num_speculative_tokens"] if cfg["spec_method"] == "mtp_modules" else 1
    return ModelConfig(
        model=folder("deepseek", modules) if mtp else folder("llama"),
        skip_tokenizer_init=True,
        dtype="float32",
        seed=0,
        max_model_len=cfg["max_model_len"],
    )


def speculative_config(cfg: Config, target: Any) -> Any:
    """vLLM's own description of the drafter, or None."""
    from vllm.config import ParallelConfig, SpeculativeConfig

    method = cfg["spec_method"]
    if method is None:
        return None
    options: dict[str, Any] = {
        "ngram": {"prompt_lookup_max": 3, "prompt_lookup_min": 1},
        "draft_model": {"model": folder("llama")},
        "pard": {"method": "draft_model", "model": folder("llama"), "parallel_drafting": True},
        "eagle": {"model": folder("llama")},
        "eagle3": {"model": folder("llama")},
        "mtp": {},
        "mtp_modules": {"method": "mtp"},
        "dflash": {"model": folder("dflash")},
    }[method]
    return SpeculativeConfig(
        target_model_config=target,
        target_parallel_config=ParallelConfig(),
        num_speculative_tokens=cfg["num_speculative_tokens"],
        **({"method": method} | options),
    )


def layer_specs(cfg: Config, extra_retained: int) -> dict[str, Any]:
    """What each attention layer keeps, by name, in order of registration."""
    import torch
    from vllm.v1.kv_cache_interface import FullAttentionSpec, SlidingWindowSpec

    specs: dict[str, Any] = {}
    for i, text in enumerate(cfg["layers"] or ["full"]):
        kind, _, heads = text.partition("*")
        if kind in STATES:
            specs[f"layer{i}"] = state_spec(cfg, kind)
            continue
        shape = {
            "block_size": cfg["block_size"],
            "num_kv_heads": int(heads or 1),
            "head_size": 8,
            "dtype": torch.float32,
        }
        if kind == "full":
            specs[f"layer{i}"] = FullAttentionSpec(**shape)
        else:
            window = int(kind.removeprefix("sliding:"))
            specs[f"layer{i}"] = SlidingWindowSpec(
                **shape, sliding_window=window, extra_retained_tokens=extra_retained
            )
    return specs


def state_spec(cfg: Config, kind: str) -> Any:
    """What a Mamba layer keeps, as vLLM's own layers ask for it: its page as large as one of attention."""
    import torch
    from vllm.v1.kv_cache_interface import MambaSpec

    cached = cfg["enable_prefix_caching"]
    exports = {"num_prefill_checkpoint_blocks": 1, "prefill_checkpoint_alignment": 1}
    return MambaSpec(
        block_size=cfg["block_size"] if cached else cfg["max_model_len"],
        shapes=((1,),),
        dtypes=(torch.float32,),
        page_size_padded=cfg["block_size"] * 2 * 8 * 4,
        mamba_cache_mode="align" if cached else "none",
        num_speculative_blocks=cfg["num_speculative_tokens"] if cfg["spec_method"] else 0,
        **(exports if kind == "mamba2" else {}),
    )


def vllm_config(cfg: Config) -> Any:
    """The whole configuration, with what the CPU platform changes put back."""
    from vllm.config import CacheConfig, DeviceConfig, SchedulerConfig, VllmConfig

    target = model_config(cfg)
    decides = (
        "max_num_batched_tokens",
        "max_num_scheduled_tokens",
        "max_num_seqs",
        "max_num_active_seqs",
        "enable_chunked_prefill",
        "long_prefill_token_threshold",
        "long_prefill_token_threshold_adaptive",
        "policy",
        "watermark",
        "scheduler_reserve_full_isl",
        "async_scheduling",
    )
    options = {name: cfg[name] for name in decides}
    scheduler = SchedulerConfig(max_model_len=cfg["max_model_len"], is_encoder_decoder=False, **options)
    cache = CacheConfig(
        block_size=cfg["block_size"],
        enable_prefix_caching=cfg["enable_prefix_caching"],
        prefix_cache_retention_interval=cfg["prefix_cache_retention_interval"],
    )
    config = VllmConfig(
        model_config=target,
        scheduler_config=scheduler,
        cache_config=cache,
        device_config=DeviceConfig("cpu"),
        speculative_config=speculative_config(cfg, target),
    )
    for name, value in options.items():
        setattr(config.scheduler_config, name, value)
    config.scheduler_config.disable_hybrid_kv_cache_manager = False
    config.cache_config.block_size = cfg["block_size"]
    config.cache_config.num_gpu_blocks = cfg["num_gpu_blocks"]
    config.cache_config.kv_cache_layout = cfg["kv_cache_layout"]
    config.cache_config.enable_prefix_caching = cfg["enable_prefix_caching"]
    if cfg["enable_prefix_caching"] and set(cfg["layers"] or ()) & set(STATES):
        config.cache_config.mamba_cache_mode = "align"
    return config


def build(cfg: Config) -> tuple[Any, Callable[..., Any] | None]:
    """A real scheduler and the function that hashes a request's blocks."""
    from vllm.utils.hashing import sha256
    from vllm.v1.core import kv_cache_utils as kcu
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.kv_cache_interface import KVCacheConfig
    from vllm.v1.structured_output import StructuredOutputManager

    config = vllm_config(cfg)
    extra = max(0, config.num_prefill_lookahead_tokens - 1)  # as get_kv_cache_configs does
    groups = grouping()(config, layer_specs(cfg, extra))
    kv = kcu.generate_scheduler_kv_cache_config(
        [
            KVCacheConfig(
                num_blocks=cfg["num_gpu_blocks"],
                kv_cache_tensors=[],
                kv_cache_groups=groups,
                prefix_cache_retention_interval=cfg["prefix_cache_retention_interval"],
            )
        ]
    )
    block_size, hash_size = kcu.resolve_kv_cache_block_sizes(kv, config)
    kcu.init_none_hash(sha256)
    sched = (AsyncScheduler if cfg["async_scheduling"] else Scheduler)(
        vllm_config=config,
        kv_cache_config=kv,
        structured_output_manager=StructuredOutputManager(config),
        block_size=block_size,
        hash_block_size=hash_size,
        log_stats=True,
    )
    assert sched.max_model_len == cfg["max_model_len"]
    assert sched.kv_cache_manager.block_pool.enable_caching == cfg["enable_prefix_caching"]
    ahead = getattr(config, "num_hash_lookahead_tokens", 0)  # 0.33 on
    options = (hash_size, sha256, ahead) if ahead else (hash_size, sha256)
    return sched, kcu.get_request_block_hasher(*options) if cfg["enable_prefix_caching"] else None


def grouping() -> Callable[..., Any]:
    """The function that sorts layers into groups; it moved in 0.33."""
    try:
        from vllm.v1.core.kv_cache_planning import get_kv_cache_groups
    except ImportError:
        from vllm.v1.core.kv_cache_utils import get_kv_cache_groups
    found: Callable[..., Any] = get_kv_cache_groups
    return found


def describe(group: Any) -> list[Any]:
    """One group of layers as `groups` lists it."""
    spec = group.kv_cache_spec
    window = getattr(spec, "sliding_window", None)
    kind = "full" if window is None else "sliding"
    if hasattr(spec, "mamba_cache_mode"):
        kind = "mamba2" if spec.num_prefill_checkpoint_blocks else "mamba"
    return [kind, window, spec.block_size, len(group.layer_names), group.is_eagle_group]


# -------------------------------------------------------------------------------- the drafter
class Script:
    """A list of numbers read one after the other; the last one repeats."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = numbers
        self._at = 0

    def next(self) -> int:
        """The next number."""
        number = self._numbers[min(self._at, len(self._numbers) - 1)]
        self._at += 1
        return number


def filled(line: Line) -> Line:
    """The fields that are not empty."""
    return {name: value for name, value in line.items() if value}


class Oracle(base.Oracle):  # type: ignore[misc,name-defined]
    """The shared oracle with drafts, and with as many block tables as there are groups."""

    def __init__(self, cfg: Config, rows: list[dict[str, Any]]) -> None:
        super().__init__(cfg, rows)
        self._layered = self.cfg["layers"] is not None
        self._accept: dict[str, Script] = {}
        self._drafts: dict[str, Script] = {}
        self._more: Line = {}
        self._told = False
        self._schedule, self._update = self.sched.schedule, self.sched.update_from_output
        self.sched.schedule = self._observed_schedule
        self.sched.update_from_output = self._observed_update
        for row in rows:
            for rid in self.children(row):
                self._accept[rid] = Script(row.get("accept") or [0])
                self._drafts[rid] = Script(row.get("drafts") or [self.cfg["num_speculative_tokens"]])

    def run(self, emit: Callable[[Line], Any]) -> Any:
        """Drive all steps, as the shared oracle does."""
        return super().run(lambda line: emit(self._finished(line)))

    def _finished(self, line: Line) -> Line:
        if "end" in line:
            line |= self._more
            if self._layered and not self._told:
                groups = self.sched.kv_cache_config.kv_cache_groups
                line["groups"] = [describe(group) for group in groups]
                self._told = True
        self._more = {}
        return line

    def tables(self, rid: str) -> list[list[int]]:
        """The block table of every group."""
        return [list(ids) for ids in self.mgr.get_blocks(rid).get_block_ids()]

    def _observed_schedule(self, *args: Any, **options: Any) -> Any:
        before = {r.request_id: self.tables(r.request_id) for r in self.sched.running}
        output = self._schedule(*args, **options)
        spec = output.scheduled_spec_decode_tokens
        fresh = {r.req_id for r in output.scheduled_new_reqs}
        fresh |= set(output.scheduled_cached_reqs.resumed_req_ids)
        self._padded = {rid for rid in spec if rid in fresh}
        self._more |= filled(
            {
                "spec": {rid: len(spec[rid]) for rid in output.num_scheduled_tokens if spec.get(rid)},
                "padded": [rid for rid in output.num_scheduled_tokens if rid in self._padded],
            }
        )
        if self._layered:
            self._more |= self._table_changes(output, before, fresh)
        return output

    def _table_changes(self, output: Any, before: dict[str, list[list[int]]], fresh: set[str]) -> Line:
        blocks, new, nulled, tables = {}, {}, {}, {}
        for rid in output.num_scheduled_tokens:
            now = self.tables(rid)
            old = before[rid] if rid not in fresh else [[] for _ in now]
            tables[rid] = now
            blocks[rid] = [len(ids) for ids in now]
            added = [ids[len(was) :] for ids, was in zip(now, old, strict=True)]
            gone = [
                [at for at, block in enumerate(was) if block and not ids[at]]
                for ids, was in zip(now, old, strict=True)
            ]
            if any(added):
                new[rid] = added
            if any(gone):
                nulled[rid] = gone
        return {"blocks": blocks, "new_blocks": new, "tables": tables} | filled({"nulled": nulled})

    def sample(self, so: Any) -> Any:
        """The fake models: the target's tokens, accepted drafts first, for every fully computed request."""
        output = super().sample(so)
        if not self.sched.num_spec_tokens:
            return output
        for rid, tokens in zip(output.req_ids, output.sampled_token_ids, strict=True):
            drafts = len(so.scheduled_spec_decode_tokens.get(rid, ()))
            if not tokens or not drafts or rid in self._padded:
                continue
            for _ in range(min(self._accept[rid].next(), drafts)):
                tokens.append(self.outputs[rid](self.emitted[rid]))
                self.emitted[rid] += 1
        return output

    def _observed_update(self, so: Any, output: Any) -> Any:
        sched = self.sched
        if not sched.num_spec_tokens:
            return self._update(so, output)
        live = {rid: sched.requests[rid] for rid in output.req_ids if rid in sched.requests}
        computed = {rid: request.num_computed_tokens for rid, request in live.items()}
        results = self._update(so, output)
        came = {o.request_id: len(o.new_token_ids) for out in results.values() for o in out.outputs}
        if not self.cfg["async_scheduling"] and so.num_scheduled_tokens:
            self._draft(output)
        self._more |= filled(
            {
                "emitted": {rid: n for rid, n in came.items() if n != 1},
                "rejected_drafts": {
                    rid: computed[rid] - request.num_computed_tokens
                    for rid, request in live.items()
                    if computed[rid] != request.num_computed_tokens
                },
                "drafted": {r.request_id: len(r.spec_token_ids) for r in sched.running if r.spec_token_ids},
                "spec_stats": self._stats(results),
            }
        )
        return results

    def _draft(self, output: Any) -> None:
        """What EngineCore.post_step does after a step: hand over the drafts of every request in the batch."""
        from vllm.v1.outputs import DraftTokenIds

        drafts = []
        for rid, tokens in zip(output.req_ids, output.sampled_token_ids, strict=True):
            most = self.cfg["num_speculative_tokens"]
            drafts.append([7] * (min(self._drafts[rid].next(), most) if tokens else most))
        self.sched.update_draft_token_ids(DraftTokenIds(list(output.req_ids), drafts))

    def _stats(self, results: dict[int, Any]) -> Line:
        for outputs in results.values():
            stats = getattr(outputs.scheduler_stats, "spec_decoding_stats", None)
            if stats is not None:
                names = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
                return {name: getattr(stats, name) for name in names}
        return {}


def make_request(row: dict[str, Any], cfg: Config, hasher: Any, rid: str, index: int) -> tuple[Any, Any]:
    """As the shared oracle makes it; tokens behind the last one exist too, since drafts may run past it."""
    request, out = _make_request(row, cfg, hasher, rid, index)
    known = row["output_tokens"]
    return request, lambda p: out(p) if p < known else base.tok(f"past:{rid}", p)


_make_request = base.make_request
base.DEFAULTS.update(MORE)
base.build, base.make_request, base.Oracle = build, make_request, Oracle


def tiny_model_dir() -> str:
    """The model folder."""
    return folder("llama")


if __name__ == "__main__":
    sys.exit(base.main())
