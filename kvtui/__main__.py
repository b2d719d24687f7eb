"""`python -m kvtui` and the console script."""

from __future__ import annotations

import gc
import sys

from kvtui import __version__

SELDOM = 200_000, 10, 10


def main() -> None:
    """Run the command line; exits with its code."""
    if sys.argv[1:] == ["--version"]:
        # Asked often and by scripts: answered before anything is loaded.
        try:
            print(f"kvtui {__version__}", flush=True)
            return
        except OSError:  # of which the command line says what it is
            pass
    gc.set_threshold(*SELDOM)  # loading leaves no garbage: looking for it would take a fifth of the start
    try:
        from kvtui.cli import main as command_line

        sys.exit(command_line())
    except KeyboardInterrupt:  # before it could answer itself
        print("kvtui: interrupted", file=sys.stderr)
        sys.exit(130)
    finally:
        gc.freeze()  # it goes with the process: the interpreter looks for garbage in all that is not frozen


if __name__ == "__main__":
    main()
