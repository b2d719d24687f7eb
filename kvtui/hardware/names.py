"""Models and GPUs by the names that measurement tables use, which are seldom the ids of the catalogue."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from kvtui.errors import ConfigError
from kvtui.hardware import catalogue
from kvtui.hardware.catalogue import GpuSpec, ModelSpec

# What a name says beyond the shape: training, packaging, number format.
_DECORATION = r"-(hf|instruct|chat|it|fp8|fp4|nvfp4|bf16|fp16|awq|gptq|w4a16|v[\d.]+|\d{4})(?=-|$)"
_MAKERS = {"nvidia", "amd", "intel", "gpu", "instinct", "geforce", "tesla"}


def model_named(name: str) -> ModelSpec:
    """The model called `name` (an id, "meta-llama/Llama-3.1-8B-Instruct", "Llama-2-70b-hf", ...), or told
    by a Hugging Face `config.json` at that path.

    Raises ConfigError for one that the catalogue does not have, or a file that cannot be understood.
    """
    if model_files(name):
        from kvtui.hardware.hfconfig import model_of

        return model_of(name)
    if name in {model.id for model in catalogue.models()}:
        return catalogue.model(name)
    found = _models().get(_plain(name))
    if found:
        return found
    try:
        return catalogue.model(name)
    except ConfigError as error:
        known = "kvtui models lists those it knows" if "/" in name else error.hint
        then = " Of" if f"{known}".endswith("?") else "; of"
        hint = f"{known}{then} any other model give the path of its config.json{_from_hub(name)}"
        raise ConfigError(error.message, hint=hint) from None


def _from_hub(name: str) -> str:
    """Where that file is, for a name as on the Hugging Face hub."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        return ""
    return f", https://huggingface.co/{name}/raw/main/config.json"


def same_model(name: str, model: ModelSpec) -> bool:
    """Whether a name on the hub is that of a model of the catalogue, of whatever weights."""
    found = _models().get(_plain(name))
    return found is not None and found.id == model.id


def served_as(name: str) -> str:
    """What `vllm serve` is given for the model called `name`: its id on the Hugging Face hub, of an instruct
    model where there is one, or the folder of its `config.json`."""
    if files := model_files(name):
        return str(files[0].parent)
    return model_named(name).name.split(" / ")[0].replace("(-Instruct)", "-Instruct")


def model_files(name: str) -> tuple[Path, ...]:
    """The files that tell the model `name`, whether they are there or not; none for one of the catalogue."""
    told = name.endswith(".json") or (Path(name) / "config.json").is_file()
    if not told:
        return ()
    from kvtui.hardware.hfconfig import files_of

    return files_of(name)


def gpu_named(name: str) -> GpuSpec:
    """The GPU called `name` (an id, "H100-80GB-SXM", "NVIDIA L40S", "h200_sxm", ...).

    Raises ConfigError for one that the catalogue does not have, or has several of.
    """
    words = _words(name)
    if name.lower() in {card.id for card in catalogue.gpus()}:
        return catalogue.gpu(name)
    for wanted in (words, {word for word in words if not word.isdigit()}):
        fitting = [card for card in catalogue.gpus() if wanted and wanted <= _words(f"{card.name} {card.id}")]
        if len(fitting) == 1:
            return fitting[0]
        if len(fitting) > 1:
            ids = ", ".join(card.id for card in fitting)
            raise ConfigError(f'"{name}" could be several GPUs', hint=f"say which: {ids}")
    return catalogue.gpu(name)


def knows(name: str) -> bool:
    """Whether the catalogue has one GPU that is called so."""
    try:
        gpu_named(name)
    except ConfigError:
        return False
    return True


def several(count: int, gpu: str) -> str:
    """So many of a GPU, in words: "4 x h100-sxm", or the name alone of one."""
    return gpu if count == 1 else f"{count} x {gpu}"


@cache
def _models() -> dict[str, ModelSpec]:
    return {_plain(name): spec for spec in catalogue.models() for name in (spec.id, spec.name, *spec.aliases)}


def _plain(name: str) -> str:
    last = name.split(" / ")[0].rstrip("/").split("/")[-1].lower()
    return re.sub(_DECORATION, "", re.sub(r"\(.*\)", "", last)).removeprefix("meta-")


def _words(name: str) -> set[str]:
    """ "H100-80GB-SXM" as h100, 80, sxm."""
    words = re.split(r"[\s\-_()]+", re.sub(r"(?i)\b(sxm|hbm)\d\b", r"\1", name).lower())
    return {re.sub(r"^(\d+)gb$", r"\1", word) for word in words if word} - _MAKERS
