"""`pgblend eval import`, `tune`, `audit`, `learn`: what changes judged sets and profiles."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import fetch_rows, open_database
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.extras import require
from pgblend.cli.base.parameters import JsonObject, merge_pairs, pairs_option
from pgblend.cli.measure import eval_options as options

# `pgblend eval learn`: a judged set of what people opened.

_COLUMNS = (
    "set",
    "clicks",
    "documents",
    "relevant",
    "not_relevant",
    "no_verdict",
    "judged",
    "queries",
)


@click.command("learn")
@click.option("-c", "--collection", required=True, metavar="NAME", help="Collection to learn of.")
@output.output_options("json", "csv", "md")
@click.pass_obj
def eval_learn(database_url: str | None, collection: str, output_format: str) -> None:
    """Make a judged set of what people opened, and of what they said of passages.

    A row further down is looked at less often: how often is estimated from documents that one query
    showed at several ranks, and is 1 / rank until the log says more. A document is relevant where
    it is opened more often than the average row that is looked at, not relevant where less often;
    below 10 looks, and within what may be chance, there is no verdict. What people judged counts in
    place of clicks. The set is called "learned: NAME"; `eval tune --feedback NAME` makes and uses
    it, and so does `calibrate --feedback`.

    \b
    Examples:
      pgblend eval learn -c docs
      pgblend eval tune --feedback docs --save keen
    """
    require("eval")
    from pgblend.cli.measure.learn import as_json, learn

    with open_database(database_url) as connection:
        found = as_json(learn(connection, collection))
    if output_format == "json":
        output.echo_json(found)
    else:
        output.echo_rows(options.rounded([found], output_format), _COLUMNS, output_format)


# `pgblend eval audit`: how many of the nearest passages the vector index finds.

_AUDIT = """
    SELECT * FROM blend.audit_recall(
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


@click.command("audit")
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
@pairs_option("--option", "A search option.")
@output.output_options("json", "csv", "md")
@click.pass_obj
def eval_audit(
    database_url: str | None,
    collection: tuple[str, ...],
    sample: int,
    limit: int,
    filters: tuple[dict[str, Any], ...],
    option: tuple[tuple[str, Any], ...],
    output_format: str,
) -> None:
    """Check how many of the nearest passages the vector index finds.

    \b
    Examples:
      pgblend eval audit --json
    """
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


# `pgblend eval tune`: fusion settings chosen on judged queries.


@click.command("tune")
@click.option(
    "--set",
    "judged_set",
    metavar="NAME",
    help="Judged set; `pgblend eval list` names those there are.",
)
@options.collection
@click.option(
    "--feedback",
    metavar="COLLECTION",
    help="In place of --set: what people opened and judged in a collection (`eval learn`).",
)
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
def eval_tune(
    database_url: str | None,
    judged_set: str | None,
    collection: str | None,
    feedback: str | None,
    profile: str | None,
    trials: int,
    share: float,
    seed: int,
    save: str | None,
    output_format: str,
) -> None:
    """Choose fusion settings on one part of a judged set, and measure them on the other.

    What is reported comes from queries that no trial has seen: the mean nDCG@10 before (a) and
    after (b), the difference with 95 % confidence, and the same against each arm alone. Trials
    fuse what words and vectors find; the fuzzy arm, which has its say where a word is misspelt,
    takes part in what is reported and has no weight of its own to tune. With --feedback documents
    without a verdict are left out of what is measured, which is fused from what words and vectors
    find; an experiment then says whether people like it.

    \b
    Examples:
      pgblend eval tune --set mine --trials 100 --save tuned
      pgblend eval tune --feedback docs --save keen
    """
    if (judged_set is None) == (feedback is None):
        raise click.UsageError("one of --set and --feedback is needed")
    if feedback is not None and collection is not None:
        raise click.UsageError("--collection goes with --set: --feedback names one itself")
    require("eval")
    from pgblend.cli.documents.progress import progress_bars
    from pgblend.cli.measure.learn import learn
    from pgblend.cli.measure.tune import TuneRequest
    from pgblend.cli.measure.tune import tune as tune_settings

    with open_database(database_url) as connection, progress_bars() as start_bar:
        name = judged_set or learn(connection, feedback or "").set
        learned, of = feedback is not None, feedback or collection
        request = TuneRequest(name, profile, trials, share, seed, save, learned, of)
        result = tune_settings(connection, request, start_bar)
    if output_format == "json":
        output.echo_json(result)
        return
    held_back = result["held_back"]
    rows = [{"tuned against": name} | held_back[name] for name in ("start", "lexical", "vector")]
    columns = ("tuned against", *options.COMPARED_COLUMNS[1:])
    output.echo_rows(options.rounded(rows, output_format), columns, output_format)
    click.echo(json.dumps(result["settings"], ensure_ascii=False))


@click.command("import")
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
    help="Judgements: query, document and grade, or TREC's four columns. Grades that are no whole "
    "numbers are multiplied until they are. Default: found in FOLDER.",
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
def import_set_command(
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

    \b
    Examples:
      pgblend eval import beir/scifact --set scifact --vectors scifact.npz
    """
    require("eval")
    from pgblend.cli.documents.progress import progress_bars
    from pgblend.cli.measure.import_set import ImportRequest, import_set
    from pgblend.cli.measure.judged_files import find_judged_files

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
    if report.grade_scale != 1:
        click.echo(
            f"pgblend: {request.files.qrels.name} has grades that are no whole numbers: all are "
            f"stored times {report.grade_scale:g}",
            err=True,
        )
    if output_format == "json":
        output.echo_json(asdict(report))
        return
    click.echo(
        f"{report.judged_set}: {report.documents} documents in collection {report.collection} "
        f"({report.stored} new, {report.vectors} vectors), {report.queries} queries, "
        f"{report.judgements} judgements",
        err=True,
    )
