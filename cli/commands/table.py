"""`pgblend table`: collections that follow tables of the database."""

import time
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import Connection, fetch_rows, fetch_value, open_database
from pgblend.cli.base.errors import UserError, echo_hint
from pgblend.cli.base.places import changing_front, push_changes
from pgblend.cli.shards.outbox import deliver_changes

_COLUMNS = (
    "table_name",
    "collection",
    "key_columns",
    "text_columns",
    "title_column",
    "metadata_columns",
    "tenant_column",
    "rights_column",
    "row_filter",
    "text_format",
    "embedding_column",
    "space",
    "row_level",
    "filled",
    "problem",
)
_ATTACH = """
    SELECT collection_name, rows_filled FROM blend.attach_table(
        %(table)s::text, %(text)s::text[], %(title)s::text, %(metadata)s::text[],
        %(collection)s::text, %(key)s::text[], %(uri)s::text, %(modified)s::text,
        %(row_level)s::boolean, %(row_filter)s::text, %(text_format)s::text,
        %(tenant)s::text, %(embedding_column)s::text, %(embedding_model)s::text,
        %(embed_long_rows)s::boolean, %(probe)s::boolean, %(rights)s::text)
"""
_IS_VIEW = """
    SELECT a.is_view FROM pgblend_data.attached_table AS a
    WHERE a.relation = to_regclass(
        CASE cardinality(parse_ident(%(table)s::text)) WHEN 1 THEN 'public.' ELSE '' END
        || %(table)s::text)
"""
_FILL = "SELECT blend.fill_table(%(table)s::text, %(batch_size)s::integer, %(anew)s::boolean)"
_VECTORS = """
    SELECT v.rows, v.vectors, v.without_vector, v.long_rows, v.space, v.examples
    FROM blend.attached_vectors() AS v WHERE v.table_name = %(table)s::text
"""
_LIST = f"SELECT {', '.join(_COLUMNS)} FROM blend.attached_tables ORDER BY table_name"
_LOCK_NOT_AVAILABLE = "55P03"
_MOST_TRIES = 60
_BATCH_SIZE = 500


class Names(click.ParamType[list[str]]):
    """Column names with commas between them."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Split at commas; an empty name is a usage error."""
        if isinstance(value, list):
            return value
        names = [name.strip() for name in str(value).split(",")]
        if not all(names):
            self.fail(f"{value!r}: expected names with commas between them", param, ctx)
        return names


@click.group()
def command() -> None:
    """Let collections follow tables, a document each row.

    \b
    Examples:
      pgblend table attach articles --text body --title title
      pgblend table list
    """


@command.command()
@click.argument("table")
@click.option("--text", required=True, type=Names(), metavar="COLUMN,…", help="Searched columns.")
@click.option("--title", metavar="COLUMN", help="Column of the title.")
@click.option("--metadata", type=Names(), metavar="COLUMN,…", help="Columns for filters.")
@click.option(
    "-c", "--collection", metavar="NAME", help="An empty or a new one; the table's name else."
)
@click.option("--key", type=Names(), metavar="COLUMN,…", help="Instead of the primary key.")
@click.option("--uri", metavar="COLUMN", help="Column of the URI.")
@click.option("--modified", metavar="COLUMN", help="Column of the date.")
@click.option(
    "--tenant", metavar="COLUMN", help="Column of tenants: a search finds the rows of one alone."
)
@click.option(
    "--rights", metavar="COLUMN", help="Column of who may read a row: roles and groups, or one."
)
@click.option(
    "--where",
    "row_filter",
    metavar="CONDITION",
    help="Condition of the rows that are documents.",
)
@click.option(
    "--format",
    "text_format",
    type=click.Choice(["plain", "html"]),
    default="plain",
    show_default=True,
    help="What the searched columns hold.",
)
@click.option(
    "--row-level/--statement-level",
    default=None,
    help="How triggers fire; by rows for partitioned tables and subscribers.",
)
@click.option("--embedding-column", metavar="COLUMN", help="Column of vectors that are there.")
@click.option("--embedding-model", metavar="NAME", help="Model that made them; it embeds queries.")
@click.option(
    "--embed-long-rows", is_flag=True, help="Have it embed passages after the first of a row."
)
@click.option(
    "--probe/--no-probe",
    default=True,
    show_default=True,
    help="Compare twenty of these vectors with the model's.",
)
@click.pass_obj
def attach(database_url: str | None, /, table: str, **columns: Any) -> None:
    """Let a collection follow a table, and bring its rows in, batch by batch.

    Writers of the table are not stopped meanwhile. A table that is attached already is attached
    anew, with other columns. Vectors follow by pgblend worker, unless the table has them.

    \b
    Examples:
      pgblend table attach articles --text body,notes --title title --metadata author
      pgblend table attach notes --text body --embedding-column vector --embedding-model local/m
      pgblend table attach products --text description --format html --where 'NOT deleted'
    """
    with open_database(database_url) as connection:
        (attached,) = fetch_rows(connection, _ATTACH, {"table": table, **columns})
        click.echo(f"attached {table} to collection {attached['collection_name']}", err=True)
        _fill(connection, table, rows_in=attached["rows_filled"])
        if fetch_value(connection, _IS_VIEW, {"table": table}):
            click.echo(f"{table} is a view: nothing tells of its changes", err=True)
            echo_hint(f"after changes, or every hour: pgblend table fill {table}")
        if columns["embedding_column"]:
            _tell_vectors(connection, table)


@command.command()
@click.argument("table")
@click.option("--anew", is_flag=True, help="Look at all rows again; what is right is left alone.")
@click.pass_obj
def fill(database_url: str | None, table: str, anew: bool) -> None:
    """Bring in rows that are not indexed yet, and take away what is gone; of a view, look at all.

    \b
    Examples:
      pgblend table fill articles --anew
    """
    with open_database(database_url) as connection:
        is_view = bool(fetch_value(connection, _IS_VIEW, {"table": table}))
        _fill(connection, table, anew=anew or is_view)


@command.command()
@click.argument("table")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def detach(database_url: str | None, table: str, yes: bool) -> None:
    """Follow a table no more, and forget its rows; the table itself stays as it is.

    \b
    Examples:
      pgblend table detach articles --yes
    """
    if not yes:
        click.confirm(f"Forget the documents of {table}?", abort=True, err=True)
    with changing_front(database_url) as connection:
        count = fetch_value(
            connection, "SELECT blend.detach_table(%(table)s::text)", {"table": table}
        )
    click.echo(f"detached {table}, {count:,} documents are gone", err=True)


@command.command("list")
@output.output_options("json", "csv", "md")
@click.pass_obj
def list_tables(database_url: str | None, output_format: str) -> None:
    """List the tables that collections follow.

    \b
    Examples:
      pgblend table list --md
    """
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _LIST)
    output.echo_list("tables", rows, _COLUMNS, output_format)


def _fill(connection: Connection, table: str, *, anew: bool = False, rows_in: int = 0) -> None:
    """Call fill_table until nothing is left, each batch in a transaction of its own.

    Shards get the rows then. The total that is told begins with `rows_in`.
    """
    total, tries = rows_in, 0
    while True:
        try:
            count = fetch_value(
                connection, _FILL, {"table": table, "batch_size": _BATCH_SIZE, "anew": anew}
            )
        except Exception as error:
            tries += 1
            if getattr(error, "sqlstate", None) != _LOCK_NOT_AVAILABLE or tries == _MOST_TRIES:
                raise
            time.sleep(0.1)
            continue
        anew, tries = False, 0
        if not count:
            break
        total += count
    push_changes(connection)
    deliver_changes(connection)
    problems = [
        row["problem"]
        for row in fetch_rows(connection, "SELECT * FROM blend.check_attached_tables()")
        if row["table_name"] == table
    ]
    if problems:
        raise UserError(f"{table}: {problems[0]}", hint="run: pgblend doctor")
    click.echo(f"looked at {total:,} rows, and all are in", err=True)


def _tell_vectors(connection: Connection, table: str) -> None:
    """Say how many rows have a vector, which have none, and how many are longer than a passage."""
    (told,) = fetch_rows(connection, _VECTORS, {"table": table})
    click.echo(
        f"took over {told['vectors']:,} of {told['rows']:,} vectors into {told['space']}", err=True
    )
    if told["without_vector"]:
        click.echo(
            f"pgblend: warning: {told['without_vector']:,} rows have none: {told['examples']}",
            err=True,
        )
    if told["long_rows"]:
        click.echo(
            f"{told['long_rows']:,} rows are longer than a passage: the first one has the vector",
            err=True,
        )
