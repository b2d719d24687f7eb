"""Names of layers that keep a state in place of K and V, see `groups_of`."""

from __future__ import annotations

STATES = ("mamba", "mamba2")  # saved at the end of a step, or inside it too
