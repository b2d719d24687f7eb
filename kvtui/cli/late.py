"""A package that is loaded when it is first used, though modules import it at their top as always.

`importlib.util.LazyLoader` is not that late: from the second `import` statement on it loads.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


class _Late(ModuleType):
    """A package of which nothing but the name is there."""

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        self.__class__ = ModuleType  # type: ignore[assignment]
        self.__path__ = spec.submodule_search_locations or []
        spec.loader.exec_module(self)
        return getattr(self, name)


def load_late(name: str) -> None:
    """From now on `import name` costs nothing, and the first use of what is in that package loads it: also
    importing a module of it. For programs of one thread; without effect where the package is loaded already
    or missing."""
    spec = None if name in sys.modules else find_spec(name)
    if spec is None:
        return
    package = module_from_spec(spec)
    del package.__path__
    package.__class__ = _Late
    sys.modules[name] = package
