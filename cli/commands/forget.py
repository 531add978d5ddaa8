"""`pgblend forget`: delete a document, and its text wherever it was copied to."""

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import fetch_rows, open_database
from pgblend.cli.commands.document import document_options, find_document

_FORGET = "SELECT * FROM blend.forget_document(%(id)s::bigint)"


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
        rows = fetch_rows(connection, _FORGET, {"id": row["document_id"]})
    output.echo_list("places", rows, ("place", "gone"), output_format)
