"""Commands with many options: their help tells them in sections."""

from __future__ import annotations

from typing import Final

import click

BEGINS: Final = {  # the first option of each section, in the order in which options are told
    "headless": "Without a screen",
    "lanes": "Lanes, model and GPU",
    "max_num_seqs": "Scheduler, as vLLM's options",
    "ttft_s": "Limits that requests are to keep",
    "backend": "Real tensors",
    "limit": "The trace",
    "until": "The run and the screen",
    "record": "Files",
    "measured": "The server",
}


class Sectioned(click.Command):
    """A command whose options are told below the titles of `BEGINS`."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        title = "Options"
        for param in self.get_params(ctx):
            title = BEGINS.get(param.name or "", title)
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
