"""`pgblend eval gate`: fail where a judged set is searched worse than required."""

from typing import Any

import click

from pgblend.cli import output
from pgblend.cli.database import open_database
from pgblend.cli.errors import ExitCode
from pgblend.cli.evaluate import options
from pgblend.cli.evaluate.metric_names import RELEVANCE, measurable
from pgblend.cli.extras import require
from pgblend.cli.parameters import merge_pairs, pairs_option


class MetricFigure(click.ParamType[tuple[str, float]]):
    """METRIC=FIGURE: a metric's name in any case, and a number from 0 to 1."""

    name = "METRIC=FIGURE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """Return the metric as it is written, and the number."""
        if isinstance(value, tuple):
            return value
        name, _, text = str(value).partition("=")
        metric = next((known for known in RELEVANCE if known.lower() == name.lower()), None)
        if metric is None:
            self.fail(f"{name!r} is no metric: expected one of {', '.join(RELEVANCE)}", param, ctx)
        try:
            figure = float(text)
        except ValueError:
            figure = -1.0
        if not 0 <= figure <= 1:
            self.fail(f"{value!r}: expected a number from 0 to 1 after {name}=", param, ctx)
        return metric, figure


@click.command("gate")
@options.judged_set
@options.collection
@click.option("--profile", metavar="NAME", help="Search by this profile. Default: the default one.")
@click.option("--arm", type=click.Choice(options.ARMS), help="Search by this arm alone.")
@pairs_option("--option", 'A search option (repeatable), such as mode="thorough".')
@options.limit
@click.option(
    "--min",
    "least",
    type=MetricFigure(),
    multiple=True,
    help="Least mean of a metric (repeatable), such as ndcg@10=0.6.",
)
@click.option(
    "--min-stability",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Least share of the queries that, asked twice, are expanded alike; asks the "
    "expansion_model for each query.",
)
@click.option(
    "--max-p95-ms",
    type=click.FloatRange(0, min_open=True),
    metavar="MS",
    help="Most milliseconds that 95 % of the searches may take.",
)
@output.output_options("json", "csv", "md")
@click.pass_context
def command(
    ctx: click.Context,
    judged_set: str,
    collection: str | None,
    profile: str | None,
    arm: str | None,
    option: tuple[tuple[str, Any], ...],
    limit: int,
    least: tuple[tuple[str, float], ...],
    min_stability: float | None,
    max_p95_ms: float | None,
    output_format: str,
) -> None:
    """Search a judged set, and fail where it is below what is required: for CI.

    Exit code 6 where a figure misses what is required, 0 where all hold; other codes mean that it
    could not be measured. The run is stored as any other, so `pgblend eval compare` and `explain`
    show what changed.

    \b
    Examples:
      pgblend eval gate --set mine --min ndcg@10=0.7 --max-p95-ms 500
    """
    require("eval")
    from pgblend.cli.evaluate.gate import STABILITY, run_gate
    from pgblend.cli.evaluate.run import RunRequest
    from pgblend.cli.ingest.progress import progress_bars

    required = dict(least)
    if unmeasured := required.keys() - set(measurable(limit)):
        raise click.UsageError(f"--limit {limit} is too few to measure {', '.join(unmeasured)}")
    if min_stability is not None:
        required[STABILITY] = min_stability
    if not required and max_p95_ms is None:
        raise click.UsageError("nothing is required: give --min, --min-stability or --max-p95-ms")
    if arm and profile:
        raise click.UsageError("--profile and --arm exclude each other")
    request = RunRequest(
        judged_set, arm or "hybrid", profile, merge_pairs(option), limit, collection
    )
    with open_database(ctx.obj) as connection, progress_bars() as start_bar:
        run, checks = run_gate(connection, request, required, max_p95_ms, start_bar)
    options.warn_of_degraded(judged_set, run)
    failed = [check for check in checks if not check.passed]
    told = {name: value for name, value in run.items() if name != "metrics"}
    told |= {"passed": not failed, "checks": [check.facts() for check in checks]}
    if output_format == "json":
        output.echo_json(told)
    else:
        rows = [
            {
                "check": check.name,
                "value": check.value,
                "required": check.required,
                "passed": check.passed,
            }
            for check in checks
        ]
        columns = ("check", "value", "required", "passed")
        output.echo_rows(options.rounded(rows, output_format), columns, output_format)
    for check in failed:
        click.echo(
            f"pgblend: {judged_set}: {check.name} is {check.value:.4g}, expected {check.required}",
            err=True,
        )
    if failed:
        ctx.exit(ExitCode.BELOW_GATE)
