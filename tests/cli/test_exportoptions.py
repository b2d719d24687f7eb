"""What can be exported is asked for in the same words everywhere."""

from __future__ import annotations

import pytest

from kvtui.cli.exportoptions import OPTIONS, export_options
from kvtui.cli.replay import replay
from kvtui.cli.run import run


@pytest.mark.parametrize("command", [run, replay])
def test_a_command_that_exports_has_the_shared_options(command: object) -> None:
    @export_options
    def bare() -> None: ...

    wanted = {param.name: param.to_info_dict() for param in bare.__click_params__}  # type: ignore[attr-defined]
    assert len(wanted) == len(OPTIONS)
    mine = {param.name: param.to_info_dict() for param in command.params}  # type: ignore[attr-defined]
    assert {name: mine[name] for name in wanted} == wanted
