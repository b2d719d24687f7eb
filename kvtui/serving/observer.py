"""Who watches an engine step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kvtui.serving.engine import Engine
    from kvtui.serving.plan import Plan
    from kvtui.serving.request import Request


class Observer(Protocol):
    """Sees every step. Calls must not change anything."""

    def arrived(self, engine: Engine, request: Request) -> None:
        """The request stands in the queue."""
        ...

    def rejected(self, engine: Engine, request: Request) -> None:
        """The request can never be served (see `Engine.refusals`)."""
        ...

    def aborted(self, engine: Engine, request: Request) -> None:
        """The client of a live request went away."""
        ...

    def idle(self, engine: Engine) -> None:
        """Nothing runs or waits; time jumps to the next arrival, if there is one."""
        ...

    def scheduled(self, engine: Engine, plan: Plan) -> None:
        """Everything is decided, nothing has ended yet; `engine.now_ps` is the start of the step."""
        ...

    def updated(self, engine: Engine, plan: Plan) -> None:
        """Tokens have appeared and requests have ended; `engine.now_ps` is the end of the step."""
        ...
