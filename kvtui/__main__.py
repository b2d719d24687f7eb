"""`python -m kvtui` and the console script."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; exits with its code."""
    from kvtui.cli import main as command_line

    sys.exit(command_line())


if __name__ == "__main__":
    main()
