"""What the commands of `pgblend eval` share: options, and how figures look."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from pgblend.cli import output
from pgblend.cli.evaluate.metrics import ALL

judged_set = click.option(
    "--set",
    "judged_set",
    required=True,
    metavar="NAME",
    help="Judged set; `pgblend eval list` names those there are.",
)


def echo_runs(runs: Sequence[Mapping[str, Any]], output_format: str) -> None:
    """Print runs side by side, one row each, their metrics as columns."""
    rows = [
        {"run": run["run_id"], "set": run["set"], "searched by": run["profile"] or run["arm"]}
        | {name: (run["metrics"] or {}).get(name) for name in ALL}
        for run in runs
    ]
    columns = ("run", "set", "searched by", *ALL)
    output.echo_rows(rounded(rows, output_format), columns, output_format)


def rounded(rows: Sequence[Mapping[str, Any]], output_format: str) -> list[dict[str, Any]]:
    """Cut figures to four digits for reading; JSON and CSV keep them whole."""
    if output_format in ("json", "csv"):
        return [dict(row) for row in rows]
    return [
        {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
        for row in rows
    ]
