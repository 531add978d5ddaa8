"""`pgblend eval`: judged sets, runs on them, and what the runs say."""

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from pgblend.cli import output
from pgblend.cli.database import fetch_rows, open_database
from pgblend.cli.errors import ExitCode, UserError
from pgblend.cli.evaluate import options
from pgblend.cli.evaluate.metrics import RELEVANCE
from pgblend.cli.parameters import JsonObject, KeyValue, merge_pairs

ARMS = ("lexical", "vector", "fuzzy")
_SET_COLUMNS = ("name", "collection", "judged_queries", "judgements", "embedding_model")
_RUN_COLUMNS = (
    "run_id",
    "judged_set",
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
_COMPARED_COLUMNS = (
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
_QUERY_COLUMNS = ("query_key", "query", "a", "b", "difference", "explain")
_AUDIT = """
    SELECT * FROM pgblend.audit_recall(
        %(collections)s::text[], %(sample)s, %(limit)s, %(filters)s::jsonb[], %(options)s::jsonb)
"""
_AUDIT_COLUMNS = (
    "filter",
    "selectivity",
    "queries",
    "recall",
    "worst_recall",
    "short_pages",
    "index_ms",
    "exact_ms",
)
_SETS = "SELECT * FROM pgblend.judged_sets ORDER BY name"
_RUNS = """
    SELECT * FROM pgblend.evaluation_runs
    WHERE judged_set = coalesce(%(set)s, judged_set) ORDER BY run_id
"""
_RUN = "SELECT * FROM pgblend.evaluation_runs WHERE run_id = %(run)s"
_QUERIES = """
    SELECT query_key, query, ndcg_10, latency_ms, source_keys[:3] AS first_documents, metrics,
        degraded
    FROM pgblend.evaluation_queries WHERE run_id = %(run)s ORDER BY ndcg_10, query_key
    LIMIT %(limit)s
"""


@click.group()
def command() -> None:
    """Measure search quality on judged queries, inside the database."""


@command.command("import")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--set", "name", required=True, metavar="NAME", help="Name of the judged set.")
@click.option(
    "-c",
    "--collection",
    metavar="NAME",
    help="Collection of its documents; made where there is none. Default: the set's name.",
)
@click.option(
    "--vectors",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE.npz",
    help="Ready vectors: arrays corpus_ids, corpus, query_ids, queries. Each document is then one "
    "passage, as it was embedded.",
)
@click.option("--model", metavar="NAME", help="Model of these vectors. Default: the database's.")
@click.option(
    "--queries",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Queries: JSONL, id-tab-text lines or TREC topics. Default: found in FOLDER.",
)
@click.option(
    "--qrels",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Judgements: query, document and grade, or TREC's four columns. Default: found in FOLDER.",
)
@click.option(
    "--split", default="test", show_default=True, help="Which qrels/SPLIT.tsv of a BEIR folder."
)
@click.option(
    "--text-config",
    metavar="NAME",
    help="Text search configuration of the documents. Default: detected.",
)
@click.option("--replace", is_flag=True, help="Put it in place of the set of that name.")
@output.output_options("json")
@click.pass_obj
def import_command(
    database_url: str | None,
    folder: Path,
    name: str,
    collection: str | None,
    vectors: Path | None,
    model: str | None,
    queries: Path | None,
    qrels: Path | None,
    split: str,
    text_config: str | None,
    replace: bool,
    output_format: str,
) -> None:
    """Import documents, queries and judgements from FOLDER.

    FOLDER holds corpus.jsonl, queries.jsonl and qrels.tsv (or a BEIR folder, or TREC's topics and
    qrels), plain, .xz or .gz. All files are checked before anything is stored; run it again to
    continue an interrupted import.
    """
    from pgblend.cli.evaluate.import_set import ImportRequest, import_set
    from pgblend.cli.evaluate.judged_files import find_judged_files
    from pgblend.cli.ingest.progress import progress_bars

    request = ImportRequest(
        files=find_judged_files(folder, queries, qrels, split),
        name=name,
        collection=collection or name,
        vectors_file=vectors,
        model=model,
        text_config=text_config,
        replace=replace,
    )
    with open_database(database_url) as connection, progress_bars() as start_bar:
        report = import_set(connection, request, start_bar)
    if output_format == "json":
        output.echo_json(asdict(report))
        return
    click.echo(
        f"{report.judged_set}: {report.documents} documents in collection {report.collection} "
        f"({report.stored} new, {report.vectors} vectors), {report.queries} queries, "
        f"{report.judgements} judgements",
        err=True,
    )


@command.command()
@options.judged_set
@click.option(
    "--profile", multiple=True, metavar="NAME", help="Search by this profile (repeatable)."
)
@click.option(
    "--arm",
    multiple=True,
    type=click.Choice(ARMS),
    help="Search by this arm alone (repeatable), beside the profiles that are named.",
)
@click.option(
    "--option",
    type=KeyValue(),
    multiple=True,
    metavar="KEY=JSON",
    help="A search option for all of them (repeatable), such as rrf_k=20.",
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 10000),
    default=100,
    show_default=True,
    help="Passages to ask for; times are those of a search of this size.",
)
@output.output_options("json", "csv", "md")
@click.pass_obj
def run(
    database_url: str | None,
    judged_set: str,
    profile: tuple[str, ...],
    arm: tuple[str, ...],
    option: tuple[tuple[str, Any], ...],
    limit: int,
    output_format: str,
) -> None:
    """Search all queries of a judged set, by profiles and arms side by side.

    Without --profile and --arm it is the default profile. An interrupted run continues where it
    was. With --json each run is one object on a line of its own.
    """
    from pgblend.cli.evaluate.run import RunRequest, evaluate
    from pgblend.cli.ingest.progress import progress_bars

    ways: list[tuple[str, str | None]] = [("hybrid", each) for each in dict.fromkeys(profile)]
    ways += [(each, None) for each in dict.fromkeys(arm)]
    given = merge_pairs(option)
    rows = []
    with open_database(database_url) as connection, progress_bars() as start_bar:
        for each, name in ways or [("hybrid", None)]:
            label = f"{judged_set} {name or each}"
            result = evaluate(
                connection,
                RunRequest(judged_set, each, name, given, limit),
                partial(start_bar, label),
            )
            rows.append(result)
            if output_format == "json":
                click.echo(json.dumps(result, ensure_ascii=False))
            if result["degraded_queries"]:
                click.echo(
                    f"pgblend: warning: {label}: {result['degraded_queries']} of "
                    f"{result['queries']} searches went on without a stage: see degraded in "
                    f"`pgblend eval show {result['run_id']} --json`",
                    err=True,
                )
    if output_format != "json":
        options.echo_runs(rows, output_format)


@command.command()
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
def compare(
    database_url: str | None, run_a: int, run_b: int, metric: str, limit: int, output_format: str
) -> None:
    """Compare two runs of one judged set: is B better than A, or is it chance?

    p is two-sided, by a paired randomisation test; the interval holds the difference with 95 %
    confidence.
    """
    from pgblend.cli.evaluate.compare import compare as compare_runs

    with open_database(database_url) as connection:
        result = compare_runs(connection, run_a, run_b, metric)
    if output_format == "json":
        output.echo_json(result)
        return
    rows = [{"metric": name} | values for name, values in result["metrics"].items()]
    output.echo_rows(options.rounded(rows, output_format), _COMPARED_COLUMNS, output_format)
    click.echo()
    queries = [query for query in result["queries"][:limit] if query["difference"]]
    output.echo_rows(options.rounded(queries, output_format), _QUERY_COLUMNS, output_format)


@command.command()
@click.option(
    "--set", "judged_set", multiple=True, metavar="NAME", help="Only this set (repeatable)."
)
@click.option("--run", "run_id", multiple=True, type=int, help="Only this run (repeatable).")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    required=True,
    help="The page to write.",
)
@click.pass_obj
def report(
    database_url: str | None, judged_set: tuple[str, ...], run_id: tuple[int, ...], out: Path
) -> None:
    """Write a page about the newest run of each way to search: metrics, pictures, worst queries."""
    from pgblend.cli.evaluate.report import read_runs, render_report

    with open_database(database_url) as connection:
        runs = read_runs(connection, judged_set, run_id)
    out.write_text(render_report(runs), encoding="utf-8")
    click.echo(f"wrote {out}: {len(runs)} runs", err=True)


@command.command()
@options.judged_set
@click.option("--profile", metavar="NAME", help="Profile to start from. Default: the default one.")
@click.option(
    "--trials",
    type=click.IntRange(1, 100000),
    default=150,
    show_default=True,
    help="Settings to try.",
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    help="Share of the queries to tune on; the others are held back.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Which queries, which trials.")
@click.option("--save", metavar="NAME", help="Save the settings as this profile.")
@output.output_options("json")
@click.pass_obj
def tune(
    database_url: str | None,
    judged_set: str,
    profile: str | None,
    trials: int,
    share: float,
    seed: int,
    save: str | None,
    output_format: str,
) -> None:
    """Choose fusion settings on one part of a judged set, and measure them on the other.

    What is reported comes from queries that no trial has seen: the mean nDCG@10 before (a) and
    after (b), the difference with 95 % confidence, and the same against each arm alone.
    """
    from pgblend.cli.evaluate.tune import TuneRequest
    from pgblend.cli.evaluate.tune import tune as tune_settings
    from pgblend.cli.ingest.progress import progress_bars

    request = TuneRequest(judged_set, profile, trials, share, seed, save)
    with open_database(database_url) as connection, progress_bars() as start_bar:
        result = tune_settings(connection, request, start_bar)
    if output_format == "json":
        output.echo_json(result)
        return
    held_back = result["held_back"]
    rows = [{"tuned against": name} | held_back[name] for name in ("start", "lexical", "vector")]
    columns = ("tuned against", *_COMPARED_COLUMNS[1:])
    output.echo_rows(options.rounded(rows, output_format), columns, output_format)
    click.echo(json.dumps(result["settings"], ensure_ascii=False))


@command.command()
@click.option("-c", "--collection", multiple=True, metavar="NAME", help="Only this collection.")
@click.option(
    "--sample",
    type=click.IntRange(1, 1000),
    default=50,
    show_default=True,
    help="Query vectors to try.",
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="Passages to ask for.",
)
@click.option(
    "--filter",
    "filters",
    type=JsonObject(),
    multiple=True,
    help="Search with this filter (repeatable). Default: none, and conditions on the documents' "
    "metadata that pass about 10, 1 and 0.1 percent.",
)
@click.option(
    "--option", type=KeyValue(), multiple=True, metavar="KEY=JSON", help="A search option."
)
@output.output_options("json", "csv", "md")
@click.pass_obj
def audit(
    database_url: str | None,
    collection: tuple[str, ...],
    sample: int,
    limit: int,
    filters: tuple[dict[str, Any], ...],
    option: tuple[tuple[str, Any], ...],
    output_format: str,
) -> None:
    """Check how many of the nearest passages the vector index finds."""
    parameters = {
        "collections": list(collection) or None,
        "sample": sample,
        "limit": limit,
        "filters": [json.dumps(each) for each in filters] or None,
        "options": json.dumps(merge_pairs(option)),
    }
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _AUDIT, parameters)
    if not rows:
        raise UserError(
            "no passage has a vector", hint="pgblend ingest with a model gateway makes them"
        )
    output.echo_list("audits", options.rounded(rows, output_format), _AUDIT_COLUMNS, output_format)


@command.command("list")
@click.option("--set", "judged_set", metavar="NAME", help="The runs of this judged set.")
@click.option("--runs", is_flag=True, help="The runs of all sets.")
@output.output_options("json", "csv", "md")
@click.pass_obj
def list_command(
    database_url: str | None, judged_set: str | None, runs: bool, output_format: str
) -> None:
    """List judged sets, or the runs on them."""
    with open_database(database_url) as connection:
        if runs or judged_set:
            rows = fetch_rows(connection, _RUNS, {"set": judged_set})
        else:
            rows = fetch_rows(connection, _SETS)
    if runs or judged_set:
        output.echo_list("runs", options.rounded(rows, output_format), _RUN_COLUMNS, output_format)
    else:
        output.echo_list("sets", rows, _SET_COLUMNS, output_format)


@command.command()
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
def show(database_url: str | None, run_id: int, limit: int, output_format: str) -> None:
    """Show a run: its metrics, what it searched with, and its worst queries."""
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
