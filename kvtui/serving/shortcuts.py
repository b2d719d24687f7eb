"""Which rounds an engine can have: runs of steps that are known beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.serving.ahead import ahead_rounds
from kvtui.serving.plain import plain_rounds
from kvtui.serving.rounds import Rounds

if TYPE_CHECKING:
    from kvtui.serving.engine import Engine


def rounds_of(engine: Engine) -> Rounds | None:
    """Rounds of the kind that its scheduler allows, if any."""
    return plain_rounds(engine) or ahead_rounds(engine)
