"""`pgblend forget`: delete a document, and its text wherever it was copied to."""

from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import Connection, fetch_rows, fetch_value, open_database
from pgblend.cli.base.errors import UserError
from pgblend.cli.commands.document import document_options, find_document

_FORGET = "SELECT * FROM blend.forget_document(%(id)s::bigint)"
_COLLECTION = "SELECT d.collection FROM blend.documents AS d WHERE d.document_id = %(id)s::bigint"
_REBUILD = "SELECT blend.lexical_rebuild(%(collection)s::text)"
# What a server without PL/Python leaves to that statement.
_LATER = {"segments of the lexical index": "now", "vocabulary": "now, if no session adds passages"}


@click.command()
@document_options
@click.option("--yes", is_flag=True, help="Do not ask.")
@output.output_options("json", "csv", "md")
@click.pass_obj
def command(
    database_url: str | None,
    document: str,
    collection: str | None,
    yes: bool,
    output_format: str,
) -> None:
    """Delete a document, and its text wherever it was copied to.

    Where that is, and when it is gone from there, is printed. The lexical index of the collection
    is made anew, which takes minutes in a large one; `document delete` leaves words of a deleted
    document in it until segments are merged.

    \b
    Examples:
      pgblend forget minutes.md -c docs --yes
      pgblend forget 42 --json
    """
    with open_database(database_url) as connection:
        row = find_document(connection, document, collection)
        name = f"document {row['document_id']} ({output.one_line(row['source_key'])})"
        if not yes:
            click.confirm(f"Forget {name}?", abort=True, err=True)
        with connection.transaction():
            rows = _forget(connection, row["document_id"])
    output.echo_list("places", rows, ("place", "gone"), output_format)


def _forget(connection: Connection, document_id: int) -> list[dict[str, Any]]:
    """Delete a document and its text; return each place, and when it is gone from there."""
    named = {"collection": fetch_value(connection, _COLLECTION, {"id": document_id})}
    rows = fetch_rows(connection, _FORGET, {"id": document_id})
    later = [row for row in rows if row["place"] in _LATER and row["gone"].endswith("_rebuild")]
    if later and fetch_value(connection, _REBUILD, named) is None:
        raise UserError(
            "the lexical index could not be made anew, so nothing is deleted",
            hint="see `pgblend reindex`, and run this again",
        )
    for row in later:
        row["gone"] = _LATER[row["place"]]
    return rows
