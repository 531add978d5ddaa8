"""`pgblend document`: list, show, change and delete documents, and who may read them."""

import json
import re
from collections.abc import Callable
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import Connection, fetch_rows, fetch_value, open_database
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.parameters import JsonObject, shorten

_LIST_COLUMNS = (
    "document_id",
    "collection",
    "source_key",
    "title",
    "language",
    "chunks",
    "tokens",
    "ingested_at",
)
_LIST = """
    SELECT * FROM blend.documents
    WHERE %(collections)s::text[] IS NULL OR collection = ANY(
        ARRAY(SELECT normalize(n) FROM unnest(%(collections)s::text[]) AS n))
    ORDER BY document_id LIMIT %(limit)s::bigint OFFSET %(offset)s::bigint
"""
_FIND = """
    SELECT * FROM blend.documents
    WHERE CASE WHEN %(collection)s::text IS NULL THEN document_id = %(id)s::bigint
        ELSE collection = normalize(%(collection)s::text) AND source_key IN (
            %(key)s::text, normalize(%(key)s::text, NFC), normalize(%(key)s::text, NFD)) END
    ORDER BY source_key = %(key)s::text DESC LIMIT 1
"""
_CHUNKS = "SELECT * FROM blend.chunks WHERE document_id = %(id)s::bigint ORDER BY chunk_index"
_DELETE = "SELECT blend.delete_document(document_id => %(id)s::bigint)"
_SET_METADATA = """
    SELECT blend.set_metadata(%(id)s::bigint, %(metadata)s::jsonb, merge => %(merge)s::boolean)
"""
_RESET_METADATA = "SELECT blend.reset_metadata(%(id)s::bigint)"
_RIGHTS = """
    SELECT r.collection, r.source_key, r.readers FROM blend.document_rights AS r
    WHERE (%(collection)s::text IS NULL OR r.collection = normalize(%(collection)s::text))
        AND (%(key)s::text IS NULL OR r.source_key = %(key)s::text)
    ORDER BY r.collection, r.source_key
"""
_MAXIMUM_ID = 2**63 - 1


@click.group()
def command() -> None:
    """List, show, change and delete documents.

    \b
    Examples:
      pgblend document list -c docs
      pgblend document show deploy.md -c docs
    """


@command.command("list")
@click.option(
    "-c",
    "--collection",
    multiple=True,
    metavar="NAME",
    help="Documents of this collection only (repeatable).",
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 100_000),
    default=50,
    show_default=True,
    help="Most documents to list.",
)
@click.option(
    "--offset",
    type=click.IntRange(0, _MAXIMUM_ID),
    default=0,
    show_default=True,
    help="Documents to skip, for pages.",
)
@output.output_options("json", "csv", "md", "files")
@click.pass_obj
def list_documents(
    database_url: str | None,
    collection: tuple[str, ...],
    limit: int,
    offset: int,
    output_format: str,
) -> None:
    """List documents, oldest first.

    \b
    Examples:
      pgblend document list -c docs -n 10
    """
    parameters = {"collections": list(collection) or None, "limit": limit + 1, "offset": offset}
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _LIST, parameters)
    output.echo_list("documents", rows[:limit], _LIST_COLUMNS, output_format)
    if len(rows) > limit:
        click.echo(f"pgblend: there are more: --offset {offset + limit}", err=True)


def document_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the two ways to name a document: its id, or its key in a collection."""
    collection = click.option(
        "-c",
        "--collection",
        metavar="NAME",
        help="Take DOCUMENT as the source key of a document in this collection.",
    )
    return click.argument("document")(collection(function))


def find_document(connection: Connection, document: str, collection: str | None) -> dict[str, Any]:
    """Return the document's row, or say that there is none."""
    number = _number(document)
    if collection is None and number is None:
        raise click.UsageError(
            f"{shorten(document)} is not a document id: "
            "to name a document by its source key, add --collection NAME"
        )
    parameters = {
        "collection": collection,
        "key": document,
        "id": None if collection else number,
    }
    rows = fetch_rows(connection, _FIND, parameters)
    if not rows:
        where = f" in collection {shorten(collection)}" if collection else ""
        raise UserError(
            f"there is no document {shorten(document)}{where}", hint="run: pgblend document list"
        )
    return rows[0]


def _number(document: str) -> int | None:
    """Return the id that a text is, in decimal or as a docid (#00002a); None for another text."""
    is_docid = re.fullmatch(r"#[0-9a-f]{6,15}", document)
    if is_docid is None and not (document.isascii() and document.isdigit()):
        return None
    number = int(document[1:], 16) if is_docid else int(document)
    return number if number <= _MAXIMUM_ID else None


@command.command()
@click.argument("source_key", required=False)
@click.option("-c", "--collection", metavar="NAME", help="Documents of this collection only.")
@output.output_options("json", "csv", "md")
@click.pass_obj
def rights(
    database_url: str | None, source_key: str | None, collection: str | None, output_format: str
) -> None:
    """List the documents that have readers of their own, or one of them, with these readers.

    Groups are written group:NAME. A document without readers is for those alone who may write to
    its collection. Who may not sees no others among the readers.

    \b
    Examples:
      pgblend document rights
      pgblend document rights salary.md -c handbook
    """
    with open_database(database_url) as connection:
        given = {"collection": collection, "key": source_key}
        rows = fetch_rows(connection, _RIGHTS, given)
    output.echo_list("rights", rows, ("collection", "source_key", "readers"), output_format)


@command.command()
@document_options
@output.output_options("json")
@click.pass_obj
def show(
    database_url: str | None, document: str, collection: str | None, output_format: str
) -> None:
    """Show a document and its chunks.

    \b
    Examples:
      pgblend document show deploy.md -c docs
      pgblend document show 42
    """
    with open_database(database_url) as connection:
        row = find_document(connection, document, collection)
        chunks = fetch_rows(connection, _CHUNKS, {"id": row["document_id"]})
    if output_format == "json":
        output.echo_json({"document": row, "chunks": chunks})
        return
    for name, value in row.items():
        click.echo(f"{name}: {output.one_line(output.cell_text(value))}")
    for chunk in chunks:
        lines = f"lines {chunk['start_line']}-{chunk['end_line']}" if chunk["start_line"] else ""
        click.echo(f"\n--- chunk {chunk['chunk_index']} {lines}".rstrip())
        click.echo(output.printable(chunk["content"]))


@command.command()
@document_options
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete(database_url: str | None, document: str, collection: str | None, yes: bool) -> None:
    """Delete a document with its chunks and vectors.

    Its words stay in the lexical index until segments are merged, and what models found in it is
    kept; `pgblend forget` takes both away.

    \b
    Examples:
      pgblend document delete deploy.md -c docs --yes
    """
    with open_database(database_url) as connection:
        row = find_document(connection, document, collection)
        name = f"document {row['document_id']} ({output.one_line(row['source_key'])})"
        if not yes:
            click.confirm(f"Delete {name}?", abort=True, err=True)
        fetch_value(connection, _DELETE, {"id": row["document_id"]})
    click.echo(f"deleted {name}", err=True)


@command.command()
@document_options
@click.argument("metadata", type=JsonObject())
@click.option("--replace", is_flag=True, help="Replace all metadata instead of merging.")
@click.pass_obj
def set_metadata(
    database_url: str | None,
    document: str,
    collection: str | None,
    metadata: dict[str, Any],
    replace: bool,
) -> None:
    """Change a document's metadata, without embedding it again.

    METADATA is a JSON object. Its keys are merged into those that are there; null removes a key.
    The new metadata is printed. What is set stays when the document's source changes and is
    ingested again; reset-metadata forgets it.

    \b
    Examples:
      pgblend document set-metadata deploy.md '{"team": "web"}' -c docs
    """
    parameters = {"metadata": json.dumps(metadata), "merge": not replace}
    with open_database(database_url) as connection:
        row = find_document(connection, document, collection)
        found = fetch_value(connection, _SET_METADATA, parameters | {"id": row["document_id"]})
    output.echo_json(found)


@command.command()
@document_options
@click.pass_obj
def reset_metadata(database_url: str | None, document: str, collection: str | None) -> None:
    """Forget what set-metadata set: the source's metadata are the document's again.

    The new metadata is printed. Where all was replaced, it stays until the source changes.

    \b
    Examples:
      pgblend document reset-metadata deploy.md -c docs
    """
    with open_database(database_url) as connection:
        row = find_document(connection, document, collection)
        found = fetch_value(connection, _RESET_METADATA, {"id": row["document_id"]})
    output.echo_json(found)
