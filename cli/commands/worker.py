"""`pgblend worker`: vectors for what waits, in the background."""

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import (
    call,
    fetch_rows,
    fetch_value,
    open_database,
    resolve_database_url,
)
from pgblend.cli.base.errors import ExitCode, UserError
from pgblend.cli.base.files import write_ready_file

if TYPE_CHECKING:
    from pgblend.cli.embed.worker_sessions import Worker

_COLUMNS = (
    "space",
    "model",
    "embedded",
    "waiting",
    "claimed",
    "retrying",
    "dead",
    "oldest_at",
    "workers",
    "per_second",
    "remaining",
)
_PROGRESS = """
    SELECT space, model, embedded, waiting, claimed, retrying, dead, oldest_at, workers,
        round(per_second::numeric, 1)::double precision AS per_second, remaining::text AS remaining
    FROM blend.embedding_progress ORDER BY space
"""
_DEAD_LETTERS = """
    SELECT space, collection, source_key, chunk_id, attempts, reason, dead_at
    FROM blend.embedding_dead_letters ORDER BY dead_at DESC, chunk_id LIMIT %(limit)s
"""
_RENEW_SUMMARIES = "SELECT pgblend._renew_summaries(%(made_by)s::text, %(collection)s::text)"
_DEAD_COLUMNS = (
    "space",
    "collection",
    "source_key",
    "chunk_id",
    "attempts",
    "reason",
    "dead_at",
)


@click.group(invoke_without_command=True)
@click.option("--once", is_flag=True, help="End when there is nothing to take now.")
@click.option(
    "--drain", is_flag=True, help="End when nothing waits: what failed is waited for and tried."
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="Batches at the model at a time.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(1, 2000),
    default=100,
    show_default=True,
    help="Most texts of a batch.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a report as JSON at the end.")
@click.option(
    "--gives-way",
    is_flag=True,
    help="Take nothing while an ingest runs, which embeds what it stored; `pgblend up` says so.",
)
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write url, pid and version here as JSON once the worker works.",
)
@click.pass_context
def command(
    ctx: click.Context,
    once: bool,
    drain: bool,
    concurrency: int,
    batch_size: int,
    as_json: bool,
    gives_way: bool,
    ready_file: Path | None,
) -> None:
    """Give vectors to the chunks that wait for one, as they come.

    Several workers may run, on several machines. A text that the model refuses is tried again
    later, and given up after embedding_max_attempts; where the model does not answer, the worker
    waits for it. It also seals the lexical index, and fits relevance anew where judgements or
    passages have changed by a fifth (pgblend calibrate; with the extra eval). At a coordinator it
    gives shards what has changed, rows of attached tables too. On SIGTERM or Ctrl-C the batches
    at the model are finished. Exit code 4: texts were given up (--once, --drain).

    \b
    Examples:
      pgblend worker
      pgblend worker --drain
    """
    if ctx.invoked_subcommand is None:
        if once and drain:
            raise click.UsageError("--once and --drain exclude each other")
        from pgblend.cli.embed.worker_sessions import Until, Worker

        until = Until.ONCE if once else Until.DRAINED if drain else Until.STOPPED
        url = resolve_database_url(ctx.obj)
        worker = Worker(url, until, concurrency, batch_size, _note, gives_way=gives_way)
        if ready_file:
            write_ready_file(ready_file, "")
        _run(ctx, worker, concurrency, as_json)


def _run(ctx: click.Context, worker: "Worker", concurrency: int, as_json: bool) -> None:
    if threading.current_thread() is threading.main_thread():
        _stop_on_signals(worker.stop)
    _note(f"working, {concurrency} batches at a time; Ctrl-C ends it")
    try:
        worker.run()
    finally:
        totals = asdict(worker.totals)
        seconds = time.monotonic() - totals.pop("started")
        _note(
            f"{worker.totals.stored:,} vectors stored, {worker.totals.failed:,} texts refused, "
            f"{worker.totals.dead:,} given up, {seconds:.1f} s"
        )
        if as_json:
            output.echo_json(totals | {"seconds": round(seconds, 3)})
    if worker.ends_by_itself and worker.totals.dead:
        ctx.exit(ExitCode.PARTIAL)


def _stop_on_signals(stop: Callable[[], None]) -> None:
    """Finish on the first SIGTERM or SIGINT; the second one ends the process at once."""

    def handle(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        _note("stopping: what is at the model is finished first")
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)


@command.command()
@click.option("--space", metavar="NAME", help="This embedding space only.")
@click.pass_obj
def retry(database_url: str | None, space: str | None) -> None:
    """Queue what was given up, or waits to be tried again, anew.

    \b
    Examples:
      pgblend worker retry
    """
    count = call(database_url, "SELECT blend.retry_embeddings(%(space)s::text)", {"space": space})
    click.echo(f"queued {count:,} chunks", err=True)


@command.command()
@output.output_options("json", "csv", "md")
@click.pass_obj
def status(database_url: str | None, output_format: str) -> None:
    """Show how far each embedding space is, and how fast it goes.

    \b
    Examples:
      pgblend worker status
    """
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _PROGRESS)
    output.echo_list("spaces", rows, _COLUMNS, output_format)


@command.command()
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Most rows.")
@output.output_options("json", "csv", "md")
@click.pass_obj
def dead(database_url: str | None, limit: int, output_format: str) -> None:
    """List chunks that were given up, the last first, and why.

    \b
    Examples:
      pgblend worker dead --limit 5
    """
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _DEAD_LETTERS, {"limit": limit})
    output.echo_list("dead_letters", rows, _DEAD_COLUMNS, output_format)


@command.command()
@click.option(
    "--renew",
    is_flag=True,
    help="Have those of another model or prompt made anew, and those given up tried again.",
)
@click.option("-c", "--collection", metavar="NAME", help="Renew in this collection only.")
@output.output_options("json", "csv", "md")
@click.pass_obj
def summaries(
    database_url: str | None, renew: bool, collection: str | None, output_format: str
) -> None:
    """Count the summaries of documents, and renew those that another model made.

    The old ones serve until a worker, or the next ingest, has the new ones; what is embedded with
    its summary is embedded anew then. Those set by hand stay.

    \b
    Examples:
      pgblend worker summaries --renew -c docs
    """
    from pgblend.cli.embed.summaries import COUNTS, summaries_by_collection, summary_maker

    if collection is not None and not renew:
        raise click.UsageError("--collection needs --renew")
    with open_database(database_url) as connection:
        if renew:
            maker = summary_maker(connection)
            if maker is None:
                raise UserError(
                    "no model makes summaries",
                    hint="name one: pgblend config set summary_model NAME",
                )
            parameters = {"made_by": maker, "collection": collection}
            count = fetch_value(connection, _RENEW_SUMMARIES, parameters)
            click.echo(f"queued {count:,} summaries", err=True)
        rows = summaries_by_collection(connection)
    output.echo_list("summaries", rows, ("collection", *COUNTS), output_format)


def _note(text: str) -> None:
    click.echo(f"pgblend: {output.one_line(text)}", err=True)
