"""`pgblend space`: embedding spaces: plan, make, fill, adopt, index, compare, switch, drop."""

from functools import partial
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import fetch_rows, fetch_value, open_database, resolve_database_url
from pgblend.cli.base.errors import ExitCode, UserError
from pgblend.cli.base.extras import require
from pgblend.cli.base.places import change, changing_front

STORAGES = ("auto", "vector", "halfvec", "binary")
_SPACES = """
    SELECT s.name, s.active, s.model, s.dimensions, s.storage, c.chunks, c.vectors, c.waiting,
        c.dead, c.missing, c.table_bytes, c.index_bytes, s.ef_search, s.recall, s.probed_at,
        s.created_at, s.brings_vectors, s.bridged_from
    FROM pgblend_data.embedding_space AS s
    CROSS JOIN LATERAL blend.count_vectors(s.name) AS c
    ORDER BY s.name
"""
_COLUMNS = (
    *("name", "active", "model", "dimensions", "storage", "chunks", "vectors", "waiting", "dead"),
    *("missing", "table_bytes", "index_bytes", "ef_search", "recall", "bridged_from"),
)
_COMPARED = ("arm", "metric", "mean_a", "mean_b", "difference", "low", "high", "p_value")
_CREATE = """
    SELECT blend.create_embedding_space(
        %(name)s::text, %(model)s::text, %(dimensions)s::integer, %(storage)s::text,
        %(active)s OR NOT %(own)s
            AND NOT EXISTS (SELECT FROM pgblend_data.embedding_space AS s WHERE s.active),
        %(probe)s, %(own)s)
"""
_STORAGE = "SELECT s.storage FROM pgblend_data.embedding_space AS s WHERE s.name = %(name)s"
_SWITCH = "SELECT blend.switch_embedding_space(%(name)s::text, %(even_incomplete)s)"
_TUNE = "SELECT * FROM blend.tune_embedding_space(%(name)s::text, %(sample)s)"
_INDEX = "SELECT blend.index_embedding_space(%(name)s::text, %(indexed)s)"
_VECTORS = """
    SELECT c.vectors
    FROM pgblend_data.embedding_space AS s
    CROSS JOIN LATERAL blend.count_vectors(s.name) AS c
    WHERE s.name = %(name)s
"""
_PLANNED_BYTES = ("table_bytes", "index_bytes", "build_bytes")
_TUNED = ("ef_search", "recall", "worst_recall", "index_ms", "exact_ms", "kept")
_DROP = "SELECT blend.drop_embedding_space(%(name)s::text, %(even_active)s)"
_NO_SPACE = "run: pgblend space list"


_model_option = click.option(
    "--model", required=True, metavar="NAME", help="Model, as the gateway knows it."
)
_storage_option = click.option(
    "--storage",
    type=click.Choice(STORAGES),
    default="auto",
    show_default=True,
    help="vector: 4 bytes a dimension; halfvec: 2; binary: an index of one bit a dimension, "
    "whose finds are compared by stored halfvec; auto: the first of them that the memory holds.",
)


@click.group()
def command() -> None:
    """Spaces: plan, make, fill, index, compare, switch, tune, drop.

    An embedding space holds the vectors of one model. Searches use the active one; another can be
    filled beside it, compared with it on judged queries, and take its place at once.

    \b
    Examples:
      pgblend space list
      pgblend space create second --model openai/text-embedding-3-small
    """


@command.command("list")
@output.output_options("json", "csv", "md")
@click.pass_obj
def list_spaces(database_url: str | None, output_format: str) -> None:
    """List the embedding spaces, how far they are filled, and their size in bytes.

    \b
    Examples:
      pgblend space list
    """
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _SPACES)
    output.echo_list("spaces", rows, _COLUMNS, output_format)


@command.command()
@_model_option
@_storage_option
@click.option("-c", "--collection", metavar="NAME", help="Of its chunks. Default: of all.")
@click.option(
    "--sample",
    type=click.IntRange(1, 800),
    default=400,
    show_default=True,
    help="Chunks to embed.",
)
@output.output_options("json")
@click.pass_obj
def plan(
    database_url: str | None,
    model: str,
    storage: str,
    collection: str | None,
    sample: int,
    output_format: str,
) -> None:
    """Tell what a space would take: hours, cost, bytes, and memory to build its index.

    Nothing is made or stored. The model embeds some of the chunks to measure how long it takes,
    which costs what such calls cost. The interval holds the hours in 95 of 100 samples; the index
    is reckoned as one process builds it, and on shards as the largest of them does.

    \b
    Examples:
      pgblend space plan --model openai/text-embedding-3-small
      pgblend space plan --model local/all-minilm-l6-v2 --collection docs --sample 100
    """
    from pgblend.cli.embed.space_plan import plan_space

    with open_database(database_url) as connection:
        found = plan_space(connection, model, storage, collection, sample)
    if output_format == "json":
        output.echo_json(found)
        return
    for line in _plan_lines(found):
        click.echo(output.one_line(line))
    rows = [
        {"storage": row["storage"], "chosen": "yes" if row["chosen"] else ""}
        | {name: f"{row[name] / 2**20:,.1f} MB" for name in _PLANNED_BYTES}
        | {"build_hours": f"{row['build_hours']:.2f}"}
        for row in found["storages"]
    ]
    output.echo_rows(rows, ("storage", "chosen", *_PLANNED_BYTES, "build_hours"), "table")
    for note in found["notes"]:
        click.echo(f"note: {note}", err=True)


@command.command()
@click.argument("name")
@_model_option
@_storage_option
@click.option(
    "--dimensions",
    type=click.IntRange(min=1),
    metavar="N",
    help="Of a vector. Default: what the model gives; for others it is asked, if it can shorten.",
)
@click.option(
    "--no-probe",
    is_flag=True,
    help="Do not ask the model for a vector now. Needs --dimensions.",
)
@click.option(
    "--own-vectors",
    is_flag=True,
    help="You store its vectors: no model is ever asked, no chunk waits for one. Needs "
    "--dimensions.",
)
@click.option("--active", is_flag=True, help="Let searches use it at once, empty as it is.")
@click.pass_obj
def create(
    database_url: str | None,
    name: str,
    model: str,
    storage: str,
    dimensions: int | None,
    no_probe: bool,
    own_vectors: bool,
    active: bool,
) -> None:
    """Make an embedding space and queue all chunks for it.

    The first one that a model fills becomes active; others wait for `pgblend space switch`.

    \b
    Examples:
      pgblend space create second --model openai/text-embedding-3-large --storage halfvec
      pgblend space create mine --own-vectors --model my-own --dimensions 384
    """
    given = {
        "name": name,
        "model": model,
        "dimensions": dimensions,
        "storage": storage,
        "active": active,
        "probe": not no_probe,
        "own": own_vectors,
    }
    with changing_front(database_url) as connection:
        found = fetch_value(connection, _CREATE, given)
        chosen = fetch_value(connection, _STORAGE, {"name": name})
    fill = "You bring its vectors" if own_vectors else f"Fill it with: pgblend space fill {name}"
    click.echo(
        f"made embedding space {name}: {model}, {found} dimensions, {chosen}. {fill}", err=True
    )


@command.command()
@click.argument("name")
@output.output_options("json")
@click.pass_obj
def fill(database_url: str | None, name: str, output_format: str) -> None:
    """Embed the chunks that have no vector in a space; searches go on meanwhile.

    Interrupted, it continues where it was. `pgblend worker` does the same for all spaces in the
    background.

    \b
    Examples:
      pgblend space fill second
    """
    from pgblend.cli.documents.document_writer import Stores, sessions
    from pgblend.cli.documents.progress import progress_bars
    from pgblend.cli.embed.step import Filled, fill_space

    url, filled = resolve_database_url(database_url), Filled()
    with Stores(url) as first, Stores(url) as second:
        with progress_bars() as start_bar:
            for number in first.all():
                fill_space(partial(sessions, (first, second), number), name, start_bar, filled)
        row = _space(fetch_rows(first.front, _SPACES), name)
    if output_format == "json":
        output.echo_json({"embedded": filled.embedded, "refused": filled.refused, "space": row})
    else:
        click.echo(f"{name}: {filled.embedded:,} embedded, {row['waiting']:,} waiting", err=True)
    if filled.refused:
        click.echo(
            f"pgblend: warning: the model refused {filled.refused:,} chunks: {filled.reason}, "
            "and pgblend worker tries them again",
            err=True,
        )


@command.command()
@click.argument("name")
@click.argument("table")
@click.option("--vectors", required=True, metavar="COLUMN", help="Of vectors (vector or halfvec).")
@click.option(
    "--key",
    required=True,
    metavar="COLUMN",
    help="Of ids of passages (chunk_id), or with --collection of source keys.",
)
@click.option(
    "-c",
    "--collection",
    metavar="NAME",
    help="Of the source keys: the first passage of each document gets the vector.",
)
@click.option("--replace", is_flag=True, help="Also where a passage has a vector.")
@output.output_options("json")
@click.pass_obj
def adopt(
    database_url: str | None,
    name: str,
    table: str,
    vectors: str,
    key: str,
    collection: str | None,
    replace: bool,
    output_format: str,
) -> None:
    """Take over vectors that a table of the database has; no model is asked.

    They go batch by batch, each in a transaction of its own; interrupted, it goes on with those
    that are not there yet. Rows that cannot be stored are counted and named, with exit code 4;
    keys that come more than once are named, and one of their rows counts.
    Many are stored several times faster while the space has no index (pgblend space index).
    The table is read with your own rights. Where each of its rows is a document that changes,
    let a collection follow it: pgblend table attach --embedding-column.

    \b
    Examples:
      pgblend space adopt second public.old_vectors --key chunk_id --vectors embedding
      pgblend space adopt second articles -c docs --key path --vectors embedding
    """
    from pgblend.cli.documents.progress import progress_bars
    from pgblend.cli.embed.space_changes import Adopted, adopt_vectors

    given = {
        "space": name,
        "table": table,
        "key": key,
        "vectors": vectors,
        "collection": collection,
        "replace": replace,
    }
    adopted = Adopted()
    with open_database(database_url) as connection, progress_bars() as start_bar:
        adopt_vectors(connection, given, start_bar, adopted)
    if output_format == "json":
        output.echo_json(vars(adopted))
    else:
        click.echo(
            f"{name}: {adopted.stored:,} of {adopted.found:,} vectors taken over, "
            f"{adopted.present:,} were there",
            err=True,
        )
    if adopted.repeated:
        click.echo(
            f"pgblend: warning: {adopted.repeated:,} keys come more than once "
            f"({output.one_line(', '.join(adopted.repeated_keys))}): the passage of each has the "
            "vector of one of its rows",
            err=True,
        )
    if adopted.wrong:
        raise UserError(
            f"{adopted.wrong:,} rows of {table} were left out: {', '.join(adopted.examples)}",
            hint=f"SELECT model, dimensions FROM blend.embedding_spaces WHERE name = '{name}'",
            exit_code=ExitCode.PARTIAL,
        )


@command.command()
@click.argument("a")
@click.argument("b")
@click.option(
    "--set",
    "judged_set",
    required=True,
    metavar="NAME",
    help="Judged set; `pgblend eval list` names those there are.",
)
@click.option(
    "-c",
    "--collection",
    metavar="NAME",
    help="The set's collection, where several have a set of the name.",
)
@click.option(
    "--arm",
    multiple=True,
    type=click.Choice(["vector", "hybrid"]),
    help="Search by this (repeatable). Default: both.",
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 10000),
    default=100,
    show_default=True,
    help="Passages to ask for.",
)
@output.output_options("json", "csv", "md")
@click.pass_obj
def compare(
    database_url: str | None,
    a: str,
    b: str,
    judged_set: str,
    collection: str | None,
    arm: tuple[str, ...],
    limit: int,
    output_format: str,
) -> None:
    """Compare two spaces on a judged set: is B better than A, or is it chance?

    Runs the set's queries in each, by vectors alone and by the default profile. The runs are kept:
    `pgblend eval compare` shows them query by query.

    \b
    Examples:
      pgblend space compare default second --set mine
    """
    require("eval")
    from pgblend.cli.documents.progress import progress_bars
    from pgblend.cli.measure.eval_options import rounded
    from pgblend.cli.measure.evaluation import RunRequest, compare_spaces

    with open_database(database_url) as connection, progress_bars() as start_bar:
        rows = fetch_rows(connection, _SPACES)
        spaces = [_space(rows, name) for name in (a, b)]
        requests = [
            RunRequest(judged_set, each, None, {}, limit, collection)
            for each in arm or ("vector", "hybrid")
        ]
        comparisons = compare_spaces(connection, requests, (a, b), start_bar)
    if output_format == "json":
        output.echo_json(
            {"set": judged_set, "a": spaces[0], "b": spaces[1], "comparisons": comparisons}
        )
        return
    figures = [
        {"arm": each["arm"], "metric": name} | values
        for each in comparisons
        for name, values in each["metrics"].items()
    ]
    output.echo_rows(rounded(figures, output_format), _COMPARED, output_format)


@command.command()
@click.argument("name")
@click.option("--even-incomplete", is_flag=True, help="Also while chunks wait for their vector.")
@click.option("--now", is_flag=True, help="Also then: the old space finds what waits, by a matrix.")
@click.option(
    "--pairs",
    type=click.IntRange(200, 5000),
    default=5000,
    show_default=True,
    help="With --now: passages to embed first, on which the matrix is fitted.",
)
@click.pass_obj
def switch(
    database_url: str | None, name: str, even_incomplete: bool, now: bool, pairs: int
) -> None:
    """Let searches use another space, all at once; the old one stays.

    With --now at once, while pgblend worker fills it: a matrix makes of each query's vector one for
    the old space, and both kinds of passages form one ranking. It says how long the pairs take, and
    what is lost; where that is too much, it refuses. Switch to the old space to go back.

    \b
    Examples:
      pgblend space switch second
      pgblend space switch second --now
    """
    if now:
        from pgblend.cli.documents.progress import progress_bars
        from pgblend.cli.embed.space_changes import switch_now

        tell = partial(click.echo, err=True)
        with open_database(database_url) as connection, progress_bars() as start_bar:
            tell(switch_now(connection, name, pairs, start_bar, tell))
        return
    before = change(database_url, _SWITCH, {"name": name, "even_incomplete": even_incomplete})
    click.echo(f"searches use {name}{_instead(before, name)}", err=True)


@command.command()
@click.argument("name", required=False)
@click.option(
    "--sample",
    type=click.IntRange(1, 1000),
    default=50,
    show_default=True,
    help="Query vectors to try.",
)
@output.output_options("json", "csv", "md")
@click.pass_obj
def tune(database_url: str | None, name: str | None, sample: int, output_format: str) -> None:
    """Let the vector index look at as much as it must; without a name, of the active space.

    Ever larger search lists (ef_search) are tried until the index finds 99 percent of the passages
    that a search asks it for. The last is kept, for searches that set none themselves.

    \b
    Examples:
      pgblend space tune
    """
    from pgblend.cli.measure.eval_options import rounded

    with changing_front(database_url) as connection:
        rows = fetch_rows(connection, _TUNE, {"name": name, "sample": sample})
    if not rows:
        raise UserError("the space has no vectors to try", hint=_NO_SPACE)
    output.echo_list("tries", rounded(rows, output_format), _TUNED, output_format)


@command.command()
@click.argument("name")
@click.option("--off", is_flag=True, help="Drop it, until you call this again.")
@click.option(
    "--progress-every",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How often a line tells how far it is, where standard error is no terminal.",
)
@click.pass_obj
def index(database_url: str | None, name: str, off: bool, progress_every: float) -> None:
    """Make the vector index of a space, or drop it while many vectors are stored.

    Without it they are stored several times faster, and the index is then made at once; a bar, or
    a line a minute, shows how far that is. Until then searches compare all vectors: exact, and
    slower with each.

    \b
    Examples:
      pgblend space index second --off
      pgblend space fill second
      pgblend space index second
    """
    from pgblend.cli.documents.progress import progress_bars
    from pgblend.cli.embed.space_changes import following_build

    url, given = resolve_database_url(database_url), {"name": name, "indexed": not off}
    with open_database(url) as connection, progress_bars(progress_every) as start_bar:
        vectors = 0 if off else fetch_value(connection, _VECTORS, given)
        if vectors:
            advance = start_bar(f"Vector index of {name}", vectors, "vectors")
            with following_build(url, connection, advance):
                changed = fetch_value(connection, _INDEX, given)
        else:
            changed = fetch_value(connection, _INDEX, given)
    told = "there is no index now" if off else "the index is made"
    before = "there was none" if off else "it was there"
    click.echo(f"embedding space {name}: {told if changed else before}", err=True)


@command.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--even-active", is_flag=True, help="Also the space that searches use.")
@click.pass_obj
def drop(database_url: str | None, name: str, yes: bool, even_active: bool) -> None:
    """Delete a space with all its vectors.

    \b
    Examples:
      pgblend space drop second --yes
    """
    if not yes:
        click.confirm(f"Delete embedding space {name} with its vectors?", abort=True, err=True)
    if not change(database_url, _DROP, {"name": name, "even_active": even_active}):
        raise UserError(f"there is no embedding space {name!r}", hint=_NO_SPACE)
    click.echo(f"dropped embedding space {name}", err=True)


def _plan_lines(plan: dict[str, Any]) -> list[str]:
    of_which = f" of {plan['collection']}" if plan["collection"] else ""
    hours, cost, sample = plan["embedding_hours"], plan["cost_usd"], plan["sample"]
    interval = "" if hours["low"] is None else f" ({hours['low']:.2f} to {hours['high']:.2f})"
    refused = f", of which the model refused {sample['refused']:,}" if sample["refused"] else ""
    return [
        f"model: {plan['model']}, {plan['dimensions']} dimensions",
        f"to embed: {plan['chunks']:,} chunks{of_which}, {plan['tokens']:,} tokens",
        f"hours: {hours['mean']:.2f}{interval}, from {sample['chunks']:,} chunks{refused}",
        f"cost: {'not known' if cost is None else f'${cost:,.2f}'}",
    ]


def _instead(before: str | None, name: str) -> str:
    return f" instead of {before}" if before not in (None, name) else ""


def _space(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Find a space among the rows of all."""
    for row in rows:
        if row["name"] == name:
            return row
    raise UserError(f"there is no embedding space {name!r}", hint=_NO_SPACE)
