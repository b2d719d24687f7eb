"""The Python interface: the README's examples run, and it says what the command line says."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

import kvtui
from tests.cli.run import kvtui as command

ROOT = Path(__file__).parents[1]
EXAMPLES = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_examples_of_the_readme_run(code: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert len(printed.getvalue().splitlines()) >= 2


def test_every_name_is_there_and_documented() -> None:
    for name in kvtui.__all__:
        assert name == "__version__" or getattr(kvtui, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(kvtui, "nothing")  # noqa: B009


def test_it_gives_the_figures_of_the_command_line() -> None:
    lanes = ["contiguous:pow2", "paged:32"]
    options = [option for lane in lanes for option in ("--lane", lane)]
    said = command("code", "--limit", "80", *options, "--blocks", "900", "--headless", "--json")
    experiment = kvtui.side_by_side(kvtui.load("code", limit=80), lanes, slots=900 * 16)
    ours = json.loads(json.dumps(kvtui.run(experiment)))
    assert ours["lanes"] == json.loads(said.stdout)["lanes"]


def test_a_sweep_gives_what_the_command_prints() -> None:
    words = ("burst", "--limit", "30", "--block-size", "16,64", "--kv-dtype", "auto,fp8", "--slo-ttft", "2")
    said = json.loads(command("sweep", *words, "--jobs", "1", "--json").stdout)
    settings = {"limit": 30, "block_size": [16, 64], "kv_dtype": ["auto", "fp8"], "ttft_s": 2.0}
    assert json.loads(json.dumps(kvtui.run_sweep("burst", **settings))) == said
    assert [cell["status"] for cell in said["cells"]] == ["done"] * 4
    with pytest.raises(kvtui.KvtuiError, match="no axis blocksize"):
        kvtui.run_sweep("burst", blocksize=16)


def test_a_pool_by_the_log_of_a_server(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text("# GPU blocks: 1001, # CPU blocks: 0\n")
    experiment = kvtui.side_by_side("burst", ["paged", "contiguous"], from_log=log)
    assert [experiment.pool_slots(lane) for lane in experiment.lanes] == [16_000, 16_000]
    assert experiment.pool_from == "the log vllm.log"
    with pytest.raises(kvtui.KvtuiError, match="a log says it too"):
        kvtui.side_by_side("burst", from_log=log, slots=16)


def test_mistakes_are_errors_of_kvtui(tmp_path: Path) -> None:
    with pytest.raises(kvtui.KvtuiError, match="no such file"):
        kvtui.load(tmp_path / "missing.csv")
    with pytest.raises(kvtui.KvtuiError):
        kvtui.side_by_side("chat", ["pages"])
