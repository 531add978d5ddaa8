"""What the commands of `pgblend eval` share: options, and how figures look."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from pgblend.cli.base import output

# What an evaluation measures, by name.

# In the order in which they are shown; a rank is cut at what the name says.
RELEVANCE = ("nDCG@5", "nDCG@10", "R@5", "R@10", "R@100", "RR@10", "AP")
PASSAGE = ("documents@10", "duplicates@10")
LATENCY = ("latency_p50_ms", "latency_p95_ms")
ALL = (*RELEVANCE, *PASSAGE, *LATENCY)
# What is told of two runs.
COMPARED_COLUMNS = (
    "metric",
    "mean_a",
    "mean_b",
    "difference",
    "low",
    "high",
    "p_value",
    "wins",
    "losses",
    "ties",
)


def measurable(limit: int) -> tuple[str, ...]:
    """Return the metrics of RELEVANCE that a search of that many passages can tell."""
    return tuple(name for name in RELEVANCE if int(name.partition("@")[2] or 0) <= limit)


ARMS = ("lexical", "vector", "fuzzy")

judged_set = click.option(
    "--set",
    "judged_set",
    required=True,
    metavar="NAME",
    help="Judged set; `pgblend eval list` names those there are.",
)

collection = click.option(
    "-c",
    "--collection",
    metavar="NAME",
    help="The set's collection, where several have a set of the name.",
)


limit = click.option(
    "-n",
    "--limit",
    type=click.IntRange(10, 10000),
    default=100,
    show_default=True,
    help="Passages to ask for, 100 for R@100; times are those of a search of this size.",
)


def warn_of_degraded(label: str, run: Mapping[str, Any]) -> None:
    """Say on standard error how many of a run's searches went on without a stage."""
    if run["degraded_queries"]:
        click.echo(
            f"pgblend: warning: {label}: {run['degraded_queries']} of {run['queries']} searches "
            f"went on without a stage: see degraded in `pgblend eval show {run['run_id']} --json`",
            err=True,
        )


def echo_runs(runs: Sequence[Mapping[str, Any]], output_format: str) -> None:
    """Print runs side by side, one row each, the metrics that any has as columns."""
    names = [name for name in ALL if any(name in (run["metrics"] or {}) for run in runs)]
    rows = [
        {"run": run["run_id"], "set": run["set"], "searched by": run["profile"] or run["arm"]}
        | {name: (run["metrics"] or {}).get(name) for name in names}
        for run in runs
    ]
    columns = ("run", "set", "searched by", *names)
    output.echo_rows(rounded(rows, output_format), columns, output_format)


def rounded(rows: Sequence[Mapping[str, Any]], output_format: str) -> list[dict[str, Any]]:
    """Cut figures to four digits for reading; JSON and CSV keep them whole."""
    if output_format in ("json", "csv"):
        return [dict(row) for row in rows]
    return [
        {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
        for row in rows
    ]
