"""`kvtui models` and `kvtui gpus`: what the catalogue knows, and from where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kvtui.cli import completion

if TYPE_CHECKING:
    from kvtui.hardware.catalogue import GpuSpec, ModelSpec

UNITS = {
    **dict.fromkeys(("bf16_flops", "fp8_flops", "fp4_flops"), "FLOP/s, dense"),
    **dict.fromkeys(("bandwidth", "pcie"), "bytes/s"),
    "link": "bytes/s, one way",
}


@click.command(short_help="The models of the catalogue, or all facts of one.")
@click.argument("id", required=False, shell_complete=completion.models)
def models(id: str | None) -> None:
    """List the models of the catalogue, or all facts of one with their source.

    \b
    kvtui models
    kvtui models llama-3.1-8b
    kvtui models meta-llama/Llama-3.1-8B-Instruct
    kvtui models ./config.json
    """
    from kvtui.hardware.catalogue import models as known
    from kvtui.hardware.catalogue import origins
    from kvtui.hardware.names import model_named

    if id is not None:
        click.echo(_facts(model_named(id), origins("models")))
        return
    click.echo(f"{'id':<24}{'parameters':>12}{'KV a token':>14}{'longest':>12}  figures from")
    for m in known():
        kib = f"{m.kv_bytes_per_token() / 1024:,.1f} KiB"
        click.echo(f"{m.id:<24}{m.params_total / 1e9:>10,.1f} B{kib:>14}{m.max_positions:>12,}  {m.verified}")
    click.echo("\n" + _words(origins("models"), "models"))


@click.command(short_help="The GPUs of the catalogue, or all facts of one.")
@click.argument("id", required=False, shell_complete=completion.gpus)
def gpus(id: str | None) -> None:
    """List the GPUs of the catalogue, or all facts of one with their source.

    \b
    kvtui gpus
    kvtui gpus h100-sxm
    """
    from kvtui.hardware.catalogue import gpus as known
    from kvtui.hardware.catalogue import origins
    from kvtui.hardware.names import gpu_named

    if id is not None:
        card = gpu_named(id)
        click.echo(f"{_facts(card, origins('gpus'))}\n{'KV pools':<20}{_pools(card)}")
        return
    click.echo(f"{'id':<16}{'name':<28}{'memory':>10}{'bandwidth':>14}{'16-bit':>14}  figures from")
    for g in known():
        memory, speed = f"{g.memory_bytes / 2**30:.1f} GiB", f"{g.bandwidth / 1e9:,.0f} GB/s"
        flops = f"{g.bf16_flops / 1e12:,.0f} TFLOP/s"
        click.echo(f"{g.id:<16}{g.name:<28}{memory:>10}{speed:>14}{flops:>14}  {g.verified}")
    click.echo("\n" + _words(origins("gpus"), "gpus"))


def _words(origins: dict[str, str], command: str) -> str:
    told = "\n".join(f"{word}: {what}" for word, what in origins.items())
    return f"{told}\nkvtui {command} ID says more of one, and its source."


def _pools(card: GpuSpec) -> str:
    """How far off estimates of pools with it were, of dense models."""
    from kvtui.hardware.measuredpools import off_by, pool_error

    return f"estimates of dense models were {off_by(pool_error(card.id, complete=True)._asdict())}"


def _facts(spec: ModelSpec | GpuSpec, origins: dict[str, str]) -> str:
    """A line for each field that says something."""
    values = spec._asdict()
    values["verified"] = f"{spec.verified}: {origins[spec.verified]}"
    told = {
        name: f"{_told(value)} {UNITS.get(name, '')}".rstrip()
        for name, value in values.items()
        if value not in (None, "", ())
    }
    return "\n".join(f"{name.replace('_', ' '):<20}{text}" for name, text in told.items())


def _told(value: Any) -> str:
    from kvtui.hardware.catalogue import Efficiency, Experts, KvGroup, Price

    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case KvGroup():
            heads = f", {value.kv_heads} KV heads of {value.head_dim}" if value.kv_heads else ""
            window = f", window {value.window:,}" if value.window else ""
            return f"{value.layers} {value.kind}{heads}{window}"
        case Experts():
            return f"{value.top_k} of {value.experts} experts"
        case Price():
            return f"{value.low:g} to {value.high:g} ({value.as_of}: {value.basis})"
        case Efficiency():
            return f"kernels as on {value.id} ({value.source})"
        case tuple():
            return ", ".join(map(_told, value))
    return str(value)
