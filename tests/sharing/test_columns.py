"""Numbers of sequences in traces: read, written, cut and joined."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np

from kvtui.groups.fanout import fanned_out, widths
from kvtui.traces import load
from kvtui.traces.convert import convert
from kvtui.traces.workload import Workload
from tests.serving.build import workload


def several() -> Workload:
    plain = workload([(0, 40, 5), (1, 33, 6), (2, 20, 7)])
    return replace(plain, samples=np.array([3, 0, 0]), beams=np.array([0, 4, 0]))


def test_they_are_written_and_read_back(tmp_path: Path) -> None:
    stream = StringIO()
    convert(several(), stream, to="kvtui")
    path = tmp_path / "trace.jsonl"
    path.write_text(stream.getvalue(), encoding="utf-8")
    again = load(str(path))
    assert widths(again).tolist() == [3, 4, 1]
    assert widths(again.head(1)).tolist() == [3]


def test_a_directory_of_files_keeps_them(tmp_path: Path) -> None:
    header = json.dumps({"kvtui_workload": 1, "name": "a"})
    rows = [{"at_ms": 0, "prompt": 9, "output": 2, "n": 2}, {"at_ms": 1, "prompt": 9, "output": 2}]
    for name, row in zip("ab", rows, strict=True):
        (tmp_path / f"{name}.jsonl").write_text(f"{header}\n{json.dumps(row)}\n", encoding="utf-8")
    assert widths(load(str(tmp_path))).tolist() == [2, 1]


def test_fanned_out_the_copies_of_a_prompt_are_alike() -> None:
    single = fanned_out(several())
    assert single.prompt.tolist() == [40] * 3 + [33] * 4 + [20]
    chains = [part.tolist() for part in np.split(single.chain, single.chain_start[1:-1])]
    assert chains[0] == chains[1] == chains[2]
    assert not set(chains[0]) & set(chains[3])
