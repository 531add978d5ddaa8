"""`pgblend eval import`: documents, queries and judgements from files."""

from dataclasses import asdict
from pathlib import Path

import click

from pgblend.cli import output
from pgblend.cli.database import open_database
from pgblend.cli.extras import require


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
def command(
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
