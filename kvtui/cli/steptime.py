"""`kvtui steptime`: how far predicted step times are from measured ones, and a fit to the user's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command(short_help="Predicted against measured step times; calibration.")
@click.option("--check", "checked", metavar="TABLE.csv", help="Compare predictions with this table.")
@click.option("--fit", "fitted", metavar="TABLE.csv", help="Calibrate to whole steps and benchmarks in it.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="With --fit: a new file for --engine to read."
)
@click.option(
    "--engine", default=None, metavar="NAME", help="Profile to use for all rows, or a file of --fit."
)
@click.option(
    "--gpu", default=None, metavar="ID", help="With --fit: start from this GPU where a row's is not known."
)
@click.option("--rows", "each", is_flag=True, help="With --check: list every row, the worst first.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def steptime(
    checked: str | None,
    fitted: str | None,
    output: Path | None,
    engine: str | None,
    gpu: str | None,
    each: bool,
    as_json: bool,
) -> None:
    """Predicted against measured times: of whole steps, benchmarks, kernels.

    \b
    kvtui steptime                                  # the errors known so far
    kvtui steptime --check step_times.csv           # any table in this format
    kvtui steptime --fit mine.csv -o mine.json      # calibrate, then: kvtui run --engine mine.json

    Columns: gpu, model, tp, phase, scope, op, batch_size, context_len, chunk_tokens, output_len, measured_ms,
    dtype, kv_dtype, engine; of benchmarks range_ratio (shortest length, of the longest) and
    max_num_batched_tokens. Rows that cannot be predicted are left out, and said why.
    """
    if checked and fitted:
        raise click.UsageError("--check and --fit go one after the other")
    if output and not fitted:
        raise click.UsageError("-o goes with --fit")
    if gpu and not fitted:
        raise click.UsageError("--gpu goes with --fit")
    _with_profile(engine)
    if fitted:
        _fit(fitted, output, engine, gpu, as_json=as_json)
    elif checked:
        _check(checked, engine, each=each, as_json=as_json)
    else:
        _known(as_json=as_json)


def _with_profile(engine: str | None) -> None:
    from kvtui.errors import ConfigError
    from kvtui.timing.stepcost import TABLES

    if engine == TABLES:
        raise ConfigError(
            f"{TABLES} has tables of its own and no profile to compare rows with, or to fit to them",
            hint="leave --engine out: each row is predicted with the profile of its engine",
        )


def _check(path: str, engine: str | None, *, each: bool, as_json: bool) -> None:
    from kvtui.timing.coefficients import engine as profile
    from kvtui.timing.steptime import check, read

    rows, unreadable = read(path)
    result = check(rows, profile=profile(engine) if engine else None)
    left_out = unreadable | result.left_out
    families = result.families()
    if as_json:
        report: dict[str, Any] = {
            "schema": 1,
            "table": path,
            "rows": len(result.compared),
            "families": families,
            "left_out": [{"reason": why, "count": n} for why, n in left_out.items()],
        }
        if each:
            report["compared"] = [_one(c) for c in result.compared]
        click.echo(json.dumps(report, indent=2))
        return
    _table(families)
    if each:
        for c in sorted(result.compared, key=lambda c: -abs(c.error)):
            click.echo(
                f"line {c.row.line:>6} {c.family:<28}{1000 * c.row.measured:>12,.3f} ms measured"
                f"{1000 * c.predicted:>12,.3f} ms predicted{c.error:>+9.1%}"
            )
    for why, n in left_out.items():
        click.echo(f"left out: {n:,} {'row' if n == 1 else 'rows'}, {why}")


def _one(compared: Any) -> dict[str, Any]:
    return {
        "line": compared.row.line,
        "family": compared.family,
        "measured_ms": round(1000 * compared.row.measured, 6),
        "predicted_ms": round(1000 * compared.predicted, 6),
        "error_pct": round(100 * compared.error, 2),
    }


def _table(families: dict[str, dict[str, Any]]) -> None:
    click.echo(f"{'family':<34}{'rows':>6}{'median error':>14}{'p90':>9}{'bias':>9}")
    for name, row in families.items():
        click.echo(
            f"{name:<34}{row['n']:>6,}{row['median_error_pct']:>13.1f}%{row['p90_error_pct']:>8.1f}%"
            f"{row['bias_pct']:>+8.1f}%"
        )
    click.echo("p90: nine of ten errors are smaller; bias: predicted against measured, in the median")


def _fit(path: str, output: Path | None, engine: str | None, gpu: str | None, *, as_json: bool) -> None:
    from kvtui.cli.output import write
    from kvtui.errors import FileIsThere
    from kvtui.timing.calibration import as_data, calibrate, on_known
    from kvtui.timing.coefficients import DEFAULT_ENGINE, SOFTWARE, calibration_text, software
    from kvtui.timing.coefficients import engine as profile
    from kvtui.timing.steptime import check, read

    if output and output.exists():
        raise FileIsThere(output)
    rows, _ = read(path)
    rows = rows if gpu is None else on_known(rows, gpu)
    start = profile(engine or DEFAULT_ENGINE)
    fitted = calibrate(rows, start)
    before, after = (check(rows, profile=p).families() for p in (start, fitted))
    about = {"table": path, "start": engine or DEFAULT_ENGINE, "before": before, "families": after}
    about |= {"gpu": gpu} if gpu else {}
    about[SOFTWARE] = software(engine or DEFAULT_ENGINE)
    text = calibration_text(fitted, about)
    if output:
        write(output, text)
    if as_json:
        click.echo(text, nl=False)
        return
    click.echo("before")
    _table(before)
    click.echo("after, on the same rows")
    _table(after)
    click.echo("  ".join(f"{name} {value:g}" for name, value in as_data(fitted).items()))
    if output:
        click.echo(f"use it with: kvtui run --engine {output}{f' --gpu {gpu}' if gpu else ''}")


def _known(*, as_json: bool) -> None:
    from kvtui.timing.coefficients import residuals

    rows = residuals()
    if as_json:
        click.echo(json.dumps({"schema": 1, "residuals": rows}, indent=2))
        return
    click.echo(f"{'family':<34}{'rows':>6}{'median error':>14}{'p90':>9}  measured on")
    for row in rows:
        how = "held out" if row["held_out"] else "fitted"
        click.echo(
            f"{row['family']:<34}{row['n']:>6,}{row['median_error_pct']:>13.1f}%{row['p90_error_pct']:>8.1f}%"
            f"  {row['rows']} ({how})"
        )
