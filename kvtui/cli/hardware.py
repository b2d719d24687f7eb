"""Options that say what a server runs on."""

from __future__ import annotations

import click

from kvtui.cli import completion

MODEL = click.option(
    "--model",
    default=None,
    metavar="ID",
    shell_complete=completion.models,
    help="Model of the catalogue (llama-3.1-8b), or its config.json.",
)
GPU = click.option(
    "--gpu",
    default=None,
    metavar="ID",
    shell_complete=completion.gpus,
    help="GPU of the catalogue (a10g).",
)
