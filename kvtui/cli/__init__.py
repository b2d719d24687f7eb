"""The command line. Commands import what they need when they run: `kvtui --version` loads neither textual nor
numpy.

Exit codes: 0 done; 1 --verify found a wrong read; 2 something the user can put right (one sentence says
what); 129, 130, 143 ended by hang-up, Ctrl-C or SIGTERM; 141 the reader of the output went away.
"""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

import click

from kvtui import __version__
from kvtui.cli.app import app
from kvtui.errors import KvtuiError

INTERRUPTED = 130
BROKEN_PIPE = 141
LONGEST = 1000  # characters of a message
COMPLETION = "_KVTUI_COMPLETE"  # set by the shell's completion script


def main() -> int:
    """Run the command line and return its exit code."""
    if COMPLETION in os.environ:
        app.main(prog_name="kvtui")
    _mark_what_has_no_sign()
    try:
        # Not app.main(): it would answer a broken pipe with exit code 1.
        with app.make_context("kvtui", sys.argv[1:]) as context:
            result = app.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except KvtuiError as error:
        _complain(error.message, error.hint)
        return error.exit_code
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "kvtui"
        _complain(error.format_message(), f"{command} --help shows what there is")
        return 2
    except click.ClickException as error:
        _complain(error.format_message(), None)
        return 2
    except (KeyboardInterrupt, click.Abort):
        print("kvtui: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _let_go()  # nobody reads any more: say nothing
        return BROKEN_PIPE
    except OSError as error:
        _complain(f"cannot write the output: {error.strerror or error}", "free some space or write elsewhere")
        _let_go()
        return 2


def _mark_what_has_no_sign() -> None:
    """In another encoding than UTF-8 a name out of a file may have none: a question mark stands for it."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _let_go() -> None:
    """Keep the interpreter from trying to write once more when it ends."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, hint: str | None) -> None:
    print(f"kvtui: {_printable(message)}", file=sys.stderr)
    if hint:
        print(f"       {_printable(hint)}", file=sys.stderr)


def _printable(text: str) -> str:
    """What a file or a server sent may steer a terminal: control characters are written out."""
    shown = "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
    return shown if len(shown) <= LONGEST else shown[:LONGEST] + " …"


__all__ = ["__version__", "main"]
