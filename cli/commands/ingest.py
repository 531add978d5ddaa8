"""`pgblend ingest`: files into a collection."""

from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import resolve_database_url
from pgblend.cli.base.errors import ExitCode, echo_hint
from pgblend.cli.documents.ingest_report import Report, named
from pgblend.cli.documents.ingestion import IngestRequest, IngestRun
from pgblend.cli.documents.language import AUTO
from pgblend.cli.documents.parse_settings import DEFAULT_FIELDS, FieldMap, Limits
from pgblend.cli.documents.progress import LINE_SECONDS, progress_bars
from pgblend.cli.documents.readers import POSIX

_SHARED = (
    click.argument(
        "paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH…"
    ),
    click.option(
        "-c", "--collection", required=True, metavar="NAME", help="Made where it does not exist."
    ),
    click.option(
        "--lang",
        "language",
        default=AUTO,
        show_default=True,
        metavar="auto|NAME",
        help="Language of the documents, as a text search configuration or an ISO code (de, zh); "
        "auto finds each one's, and short texts get the collection's.",
    ),
    click.option(
        "--include", multiple=True, metavar="GLOB", help="In folders, take these files only."
    ),
    click.option(
        "--exclude", multiple=True, metavar="GLOB", help="In folders, leave these files out."
    ),
    click.option(
        "--root",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Keys are paths below this folder, not below each PATH.",
    ),
    click.option(
        "--follow-links",
        is_flag=True,
        help="In folders, read also what links out of every PATH lead to.",
    ),
    click.option(
        "--readers",
        multiple=True,
        metavar="NAME",
        help="Role or group that alone may read these documents; repeat it for several. * means "
        "all who may read the collection. Readers named in a file or beside it come first.",
    ),
    click.option(
        "--readers-from",
        type=click.Choice([POSIX]),
        help="posix: the groups that may read a file and enter its folders may read its document; "
        "all who may read the collection where all accounts may.",
    ),
    click.option(
        "--time-budget",
        type=click.FloatRange(min=0),
        metavar="SECONDS",
        help="Processor time that reading all files may take; what is left is named.  "
        "[default: an hour, half a second a file and 4 a megabyte]",
    ),
    click.option("--embed/--no-embed", default=True, help="Ask the gateway for vectors."),
    click.option("--prune", is_flag=True, help="Delete documents whose file is gone from a PATH."),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Change nothing; tell documents, tokens, cost and hours. A few texts are embedded to "
        "measure the model.",
    ),
    click.option(
        "--progress-every",
        type=click.FloatRange(min=0, min_open=True),
        default=LINE_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="How often a line tells how far it is, where standard error is no terminal.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print a report as JSON."),
)


def source_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the paths and options of everything that reads files."""
    for option in reversed(_SHARED):
        function = option(function)
    return function


_SHOWN_PROBLEMS = 20


def _parse_map(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> FieldMap:
    """Read text=body,title=name; what else is given is a usage error."""
    names: dict[str, str] = {}
    for pair in (pair for value in values for pair in value.split(",")):
        part, _, name = (text.strip() for text in pair.partition("="))
        if part not in DEFAULT_FIELDS or not name:
            raise click.BadParameter(
                f"{pair!r}: expected PART=FIELD, PART one of {', '.join(DEFAULT_FIELDS)}"
            )
        if names.setdefault(part, name) != name:
            raise click.BadParameter(f"{part} is given twice: {names[part]!r} and {name!r}")
    return FieldMap(names)


@click.command()
@source_options
@click.option(
    "--text-config",
    metavar="NAME",
    help="Text search configuration of a collection that is made (english if not given).",
)
@click.option(
    "--map",
    "fields",
    multiple=True,
    callback=_parse_map,
    metavar="PART=FIELD,…",
    help="Fields of JSON records: text=body,title=name,id=_id,uri=url,readers=acl; other fields "
    "are metadata.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Do not even read files whose document is as new as the file, whatever the settings.",
)
@click.option(
    "--entities",
    is_flag=True,
    help="Have the model of the setting entity_model find entities in passages.",
)
@click.pass_obj
def command(
    database_url: str | None,
    paths: tuple[Path, ...],
    collection: str,
    text_config: str | None,
    language: str,
    fields: FieldMap,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    root: Path | None,
    follow_links: bool,
    readers: tuple[str, ...],
    readers_from: str | None,
    time_budget: float | None,
    embed: bool,
    prune: bool,
    resume: bool,
    entities: bool,
    dry_run: bool,
    progress_every: float,
    as_json: bool,
) -> None:
    """Read files and put their text into a collection.

    PATH is a file or a folder. Read are text, Markdown, reStructuredText, AsciiDoc, Org, LaTeX,
    HTML, saved pages, XML, JSON, JSONL, CSV, source code, notebooks, PDF, Word, Excel, PowerPoint,
    OpenDocument, EPUB, RTF, subtitles, calendars, pictures, mail of all kinds with its attached
    files, and ZIP archives; of the exports of Slack (ZIP or folder), Linear (JSON) and mail (mbox)
    each channel, issue or thread becomes a document. Other files are named in the report. A file
    that did not change is passed over, one that did replaces its document. After an interruption
    the same command finishes the rest. Exit code 4: some inputs failed, or a
    model refused some texts.

    \b
    Examples:
      pgblend ingest docs/ --collection docs
      pgblend ingest . -c code --include '*.py' --prune
      pgblend ingest docs/ -c docs --dry-run
    """
    request = IngestRequest(
        paths,
        collection,
        text_config,
        language,
        root,
        include,
        exclude,
        fields,
        embed,
        prune,
        dry_run,
        resume,
        limits=Limits(run_seconds=time_budget),
        entities=entities,
        follow_links=follow_links,
        readers=readers,
        readers_from=readers_from,
    )
    run_request(database_url, request, progress_every, as_json)


def run_request(
    database_url: str | None, request: IngestRequest, progress_every: float, as_json: bool
) -> None:
    """Run with progress bars, print the report, and exit by what became of the files."""
    with progress_bars(progress_every) as start_bar:
        run = IngestRun(resolve_database_url(database_url), request, start_bar)
        try:
            run.execute()
        except KeyboardInterrupt:
            run.report.interrupted = True
        except Exception:
            if any(run.report.documents.values()):
                _print_report(run.report, as_json)
            raise
    _print_report(run.report, as_json)
    code = ExitCode.INTERRUPTED if run.report.interrupted else _exit_code(run.report)
    click.get_current_context().exit(code)


def _print_report(report: Report, as_json: bool) -> None:
    """Print problems and the summary on standard error, the JSON on standard output."""
    for kind in ("failed", "left out", "warning"):
        _print_problems(report, kind)
    reasons: dict[str, list[str]] = {}
    for problem in report.of_kind("skipped"):
        reasons.setdefault(problem.message, []).append(problem.source)
    for reason, sources in reasons.items():
        _note(f"skipped: {reason}: {named(sources)}")
    if report.reread:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in report.reread.most_common())
        _note(f"read once more, since this version reads such files in another way: {kinds}")
    for missing in report.degraded:
        _note(f"without {missing['part']}: {missing['reason']}")
        echo_hint(missing["hint"])
    if report.interrupted:
        _note("interrupted: what was stored stays, and the same command finishes the rest")
    _note(report.summary())
    if as_json:
        output.echo_json(report.as_json())


def _print_problems(report: Report, kind: str) -> None:
    """Print the first problems of a kind; what mends several in a row stands once, below them."""
    problems = report.of_kind(kind)
    shown = problems[:_SHOWN_PROBLEMS]
    for problem, following in zip_longest(shown, shown[1:]):
        _note(f"{kind}: {problem.source}: {problem.message}")
        if following is None or following.hint != problem.hint:
            echo_hint(problem.hint)
    total = report.documents.get(kind, len(problems))
    if total > _SHOWN_PROBLEMS:
        _note(f"{kind}: {total - _SHOWN_PROBLEMS:,} more")


def _note(text: str) -> None:
    click.echo(f"pgblend: {output.one_line(text)}", err=True)


def _exit_code(report: Report) -> ExitCode:
    """Return 0 when nothing failed or was refused, 1 when every document failed, else 4."""
    if not report.documents["failed"]:
        return ExitCode.PARTIAL if report.refused else ExitCode.OK
    done = set(report.documents) - {"failed", "skipped", "pruned"}
    some = any(report.documents[status] for status in done)
    return ExitCode.PARTIAL if some else ExitCode.ERROR
