"""How something is shown."""

from __future__ import annotations

from kvtui.comparison.experiment import Experiment
from kvtui.tui.show import Films, Playable, Show, Simulation, filming_of


def show_of(what: Playable, films: Films | None) -> Show:
    """The show of an experiment, of a recording, or of what is one already."""
    if isinstance(what, Experiment):
        return Simulation(what, filming_of(films))
    from kvtui.recording import Recording

    if isinstance(what, Recording):
        from kvtui.tui.replaying import Replay

        return Replay(what)
    return what
