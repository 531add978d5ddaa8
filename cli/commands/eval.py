"""`pgblend eval`: judged sets, runs on them, and what the runs say."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import collect_warnings, fetch_rows, open_database
from pgblend.cli.base.errors import ExitCode, UserError
from pgblend.cli.base.extras import require
from pgblend.cli.base.files import writing
from pgblend.cli.base.parameters import merge_pairs, pairs_option
from pgblend.cli.measure import eval_options as options
from pgblend.cli.measure import set_commands
from pgblend.cli.measure.eval_options import RELEVANCE, measurable
from pgblend.cli.search.search_commands import Presentation, show_search

# `pgblend eval gate`: fail where a judged set is searched worse than required.


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
def eval_gate(
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
    from pgblend.cli.documents.progress import progress_bars
    from pgblend.cli.measure.evaluation import STABILITY, RunRequest, run_gate

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


# `pgblend eval compare`: two runs of one judged set.

_QUERY_COLUMNS = ("query_key", "query", "a", "b", "difference", "explain")


@click.command("compare")
@click.argument("run_a", metavar="A", type=int)
@click.argument("run_b", metavar="B", type=int)
@click.option(
    "--metric",
    type=click.Choice(RELEVANCE),
    default="nDCG@10",
    show_default=True,
    help="Metric of the queries that are shown.",
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Queries with the largest differences to show.",
)
@output.output_options("json")
@click.pass_obj
def eval_compare(
    database_url: str | None, run_a: int, run_b: int, metric: str, limit: int, output_format: str
) -> None:
    """Compare two runs of one judged set: is B better than A, or is it chance?

    p is two-sided, by a paired randomisation test; the interval holds the difference with 95 %
    confidence. Where one of them reranks, it says whether that gains.

    \b
    Examples:
      pgblend eval compare 1 2 --metric R@100
    """
    require("eval")
    from pgblend.cli.measure.compare import compare as compare_runs
    from pgblend.cli.measure.compare import told_verdict

    with open_database(database_url) as connection:
        result = compare_runs(connection, run_a, run_b, metric)
    for warning in result["warnings"]:
        click.echo(f"pgblend: warning: {warning}", err=True)
    if output_format == "json":
        output.echo_json(result)
        return
    rows = [{"metric": name} | values for name, values in result["metrics"].items()]
    output.echo_rows(options.rounded(rows, output_format), options.COMPARED_COLUMNS, output_format)
    if result["reranking"]:
        click.echo(told_verdict(result["reranking"]))
    click.echo()
    queries = [query for query in result["queries"][:limit] if query["difference"]]
    output.echo_rows(options.rounded(queries, output_format), _QUERY_COLUMNS, output_format)


# `pgblend eval explain`: how a run's search ranks one of its queries.


@click.command("explain")
@click.argument("run_id", metavar="RUN", type=int)
@click.argument("query_key", metavar="QUERY")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Most results to show.",
)
@click.option(
    "--explain-html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a page that shows it: the pipeline, and how each result moved.",
)
@output.output_options("json")
@click.pass_obj
def eval_explain(
    database_url: str | None,
    run_id: int,
    query_key: str,
    limit: int,
    explain_html: Path | None,
    output_format: str,
) -> None:
    """Search a judged query as a run did, and say how the search came to its results.

    QUERY is the query's key in its judged set. Profile, options and vector are the run's;
    settings are those of now.

    \b
    Examples:
      pgblend eval explain 2 q7 --explain-html page.html
    """
    from pgblend.cli.measure.explain import explain_query

    with open_database(database_url) as connection:
        warnings = collect_warnings(connection)
        rows, degraded = explain_query(connection, run_id, query_key, limit)
    presentation = Presentation(output_format, explain=True, explain_html=explain_html)
    show_search(presentation, rows[0]["judged_query"], rows, degraded, warnings)


# `pgblend eval report`: a page about runs.


@click.command("report")
@click.option(
    "--set", "judged_set", multiple=True, metavar="NAME", help="Only this set (repeatable)."
)
@click.option("-c", "--collection", metavar="NAME", help="Only sets of this collection.")
@click.option("--run", "run_id", multiple=True, type=int, help="Only this run (repeatable).")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    required=True,
    help="The page to write.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Search the worst queries again, and link a page that shows how each is ranked.",
)
@click.pass_obj
def eval_report(
    database_url: str | None,
    judged_set: tuple[str, ...],
    collection: str | None,
    run_id: tuple[int, ...],
    out: Path,
    explain: bool,
) -> None:
    """Write a page about the newest run of each way to search: metrics, pictures, worst queries.

    The pages of --explain go to a folder beside it, FILE without its ending and "-explained".

    \b
    Examples:
      pgblend eval report --set mine -o quality.html --explain
    """
    require("eval")
    from pgblend.cli.measure.evaluation_page import read_runs, render_report, write_explanations

    with open_database(database_url) as connection:
        runs = read_runs(connection, judged_set, run_id, collection)
        folder = out.with_name(f"{out.stem}-explained")
        links = write_explanations(connection, runs, folder) if explain else {}
    page = render_report(runs, links)
    with writing(out):
        out.write_text(page, encoding="utf-8")
    click.echo(f"pgblend: wrote {out}: {output.counted(len(runs), 'run')}", err=True)


# `pgblend eval list`: judged sets, and the runs on them.

_SET_COLUMNS = ("name", "collection", "judged_queries", "judgements", "embedding_model")
_RUN_COLUMNS = (
    "run_id",
    "judged_set",
    "collection",
    "arm",
    "profile",
    "state",
    "queries",
    "degraded_queries",
    "ndcg_10",
    "recall_100",
    "latency_p50_ms",
    "started_at",
)
_SETS = "SELECT * FROM blend.judged_sets ORDER BY name, collection"
_RUNS = """
    SELECT * FROM blend.evaluation_runs
    WHERE judged_set = coalesce(%(set)s, judged_set)
        AND coalesce(collection, '') = coalesce(%(collection)s, collection, '')
    ORDER BY run_id
"""


@click.command("list")
@click.option("--set", "judged_set", metavar="NAME", help="The runs of this judged set.")
@click.option("-c", "--collection", metavar="NAME", help="The runs of this collection's sets.")
@click.option("--runs", is_flag=True, help="The runs of all sets.")
@output.output_options("json", "csv", "md")
@click.pass_obj
def eval_list(
    database_url: str | None,
    judged_set: str | None,
    collection: str | None,
    runs: bool,
    output_format: str,
) -> None:
    """List judged sets, or the runs on them.

    \b
    Examples:
      pgblend eval list --runs
    """
    wants_runs = runs or judged_set is not None or collection is not None
    with open_database(database_url) as connection:
        if wants_runs:
            rows = fetch_rows(connection, _RUNS, {"set": judged_set, "collection": collection})
        else:
            rows = fetch_rows(connection, _SETS)
    if wants_runs:
        output.echo_list("runs", options.rounded(rows, output_format), _RUN_COLUMNS, output_format)
    else:
        output.echo_list("sets", rows, _SET_COLUMNS, output_format)


# `pgblend eval show`: one run.

_RUN = "SELECT * FROM blend.evaluation_runs WHERE run_id = %(run)s"
_QUERIES = """
    SELECT query_key, query, ndcg_10, latency_ms, source_keys[:3] AS first_documents, metrics,
        degraded
    FROM blend.evaluation_queries WHERE run_id = %(run)s ORDER BY ndcg_10, query_key
    LIMIT %(limit)s
"""


@click.command("show")
@click.argument("run_id", type=int)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Worst queries to show.",
)
@output.output_options("json")
@click.pass_obj
def eval_show(database_url: str | None, run_id: int, limit: int, output_format: str) -> None:
    """Show a run: its metrics, what it searched with, and its worst queries.

    \b
    Examples:
      pgblend eval show 2
    """
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _RUN, {"run": run_id})
        queries = fetch_rows(connection, _QUERIES, {"run": run_id, "limit": limit})
    if not rows:
        raise UserError(
            f"there is no run {run_id} that you may read",
            hint="pgblend eval list --runs shows those there are",
            exit_code=ExitCode.ERROR,
        )
    if output_format == "json":
        output.echo_json(rows[0] | {"worst_queries": queries})
        return
    options.echo_runs([rows[0] | {"set": rows[0]["judged_set"]}], output_format)
    click.echo()
    output.echo_rows(
        options.rounded(queries, output_format),
        ("query_key", "query", "ndcg_10", "first_documents"),
        output_format,
    )


# `pgblend eval run`: all queries of a judged set, searched.


@click.command("run")
@options.judged_set
@options.collection
@click.option(
    "--profile", multiple=True, metavar="NAME", help="Search by this profile (repeatable)."
)
@click.option(
    "--arm",
    multiple=True,
    type=click.Choice(options.ARMS),
    help="Search by this arm alone (repeatable), beside the profiles that are named.",
)
@pairs_option("--option", "A search option for all of them (repeatable), such as rrf_k=20.")
@options.limit
@output.output_options("json", "csv", "md")
@click.pass_obj
def eval_run(
    database_url: str | None,
    judged_set: str,
    collection: str | None,
    profile: tuple[str, ...],
    arm: tuple[str, ...],
    option: tuple[tuple[str, Any], ...],
    limit: int,
    output_format: str,
) -> None:
    """Search all queries of a judged set, by profiles and arms side by side.

    Without --profile and --arm it is the default profile. An interrupted run continues where it
    was. With --json each run is one object on a line of its own.

    \b
    Examples:
      pgblend eval run --set mine --profile balanced --arm lexical --arm vector
    """
    require("eval")
    from pgblend.cli.documents.progress import progress_bars
    from pgblend.cli.measure.evaluation import RunRequest, evaluate

    ways: list[tuple[str, str | None]] = [("hybrid", each) for each in dict.fromkeys(profile)]
    ways += [(each, None) for each in dict.fromkeys(arm)]
    given = merge_pairs(option)
    rows = []
    with open_database(database_url) as connection, progress_bars() as start_bar:
        for each, name in ways or [("hybrid", None)]:
            label = f"{judged_set} {name or each}"
            result = evaluate(
                connection,
                RunRequest(judged_set, each, name, given, limit, collection),
                partial(start_bar, label),
            )
            rows.append(result)
            if output_format == "json":
                click.echo(json.dumps(result, ensure_ascii=False))
            options.warn_of_degraded(label, result)
    if output_format != "json":
        options.echo_runs(rows, output_format)


@click.group()
def command() -> None:
    """Measure search quality on judged queries, inside the database.

    \b
    Examples:
      pgblend eval import beir/scifact --set scifact
      pgblend eval run --set scifact
      pgblend eval compare 1 2
    """


command.add_command(set_commands.import_set_command)
command.add_command(eval_run)
command.add_command(eval_gate)
command.add_command(eval_compare)
command.add_command(eval_explain)
command.add_command(eval_report)
command.add_command(set_commands.eval_learn)
command.add_command(set_commands.eval_tune)
command.add_command(set_commands.eval_audit)
command.add_command(eval_list)
command.add_command(eval_show)
