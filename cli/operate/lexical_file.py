"""A lexical index in a file: the sealed segments of one collection.

The file is a ZIP archive, whose checksums tell a damaged one. Its format.json says what it is. Then
segment.copy, posting.copy and chunk.copy are rows in COPY's binary format. The first two are
columns of pgblend_data.segment and pgblend_data.posting. The third has for each sealed chunk its id
and the md5 of its text search configuration and lexemes. What fits format 4 and the chunks of the
database loads.

A coordinator's file has these rows of each shard, in a folder of the shard's number. Its
format.json names the numbers. Shards that came of a split have new ones, so a file of before is
refused.
"""

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, LiteralString

from pgblend.cli.base.database import Connection, connect, fetch_rows, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.places import find_places

FORMAT = 4
_BLOCK = 1 << 20

_COLLECTION = "SELECT id, name FROM blend.collections WHERE name = %(name)s"
_SAVE: Mapping[str, LiteralString] = {
    "segment": """
        COPY (
            SELECT id, text_search_config, n, total_length, chunk_ids, document_ids, chunk_indexes,
                lengths, own_lengths, code_book, terms, document_frequencies, dead, signature
            FROM pgblend_data.segment
            WHERE collection_id = %(id)s
            ORDER BY id
        ) TO STDOUT (FORMAT binary)
    """,
    "posting": """
        COPY (
            SELECT p.segment_id, p.block, p.data
            FROM pgblend_data.segment AS s
            INNER JOIN pgblend_data.posting AS p ON p.segment_id = s.id
            WHERE s.collection_id = %(id)s
        ) TO STDOUT (FORMAT binary)
    """,
    "chunk": """
        COPY (
            SELECT c.id, decode(md5(concat_ws(' ', c.text_search_config, c.lexemes)), 'hex')
            FROM pgblend_data.chunk AS c
            WHERE c.collection_id = %(id)s AND NOT EXISTS (
                SELECT FROM pgblend_data.pending AS p WHERE p.chunk_id = c.id)
        ) TO STDOUT (FORMAT binary)
    """,
}
_STAGE = """
    CREATE TEMP TABLE lexical_segment_stage (
        id bigint PRIMARY KEY, text_search_config text, n integer, total_length bigint,
        chunk_ids bytea, document_ids bytea, chunk_indexes bytea, lengths bytea, own_lengths bytea,
        code_book bytea, terms bytea, document_frequencies bytea, dead bytea,
        signature bytea
    ) ON COMMIT DROP;
    CREATE TEMP TABLE lexical_posting_stage (
        segment_id bigint, block integer, data bytea, PRIMARY KEY (segment_id, block)
    ) ON COMMIT DROP;
    CREATE TEMP TABLE lexical_chunk_stage (
        chunk_id bigint PRIMARY KEY, digest bytea
    ) ON COMMIT DROP;
"""
_LOAD: Mapping[str, LiteralString] = {
    "segment": "COPY pg_temp.lexical_segment_stage FROM STDIN (FORMAT binary)",
    "posting": "COPY pg_temp.lexical_posting_stage FROM STDIN (FORMAT binary)",
    "chunk": "COPY pg_temp.lexical_chunk_stage FROM STDIN (FORMAT binary)",
}


def save(connection: Connection, collection: str, path: Path) -> None:
    """Write a collection's segments, as one snapshot of each database shows them, to a new file."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    rows = fetch_rows(connection, _COLLECTION, {"name": collection})
    if not rows:
        raise UserError(
            f"there is no collection {collection!r}", hint="run: pgblend collection list"
        )
    numbers = _shards(connection)
    about = {"format": FORMAT, "what": "pgblend lexical index", "collection": collection}
    about |= {"shards": numbers} if numbers else {}
    try:
        with zipfile.ZipFile(unfinished, "w") as archive, _parts(connection) as parts:
            archive.writestr("format.json", json.dumps(about, ensure_ascii=False))
            for folder, database in parts.items():
                _save_part(database, rows[0]["id"], archive, folder)
        unfinished.replace(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def load(connection: Connection, collection: str, path: Path) -> int:
    """Put a file's segments in place of the collection's; return how many chunks they hold.

    In one transaction of each database, which commit after all: a file that does not fit changes
    nothing.
    """
    with _opened(path, _shards(connection)) as archive, _parts(connection) as parts:
        return sum(_load_part(part, collection, archive, folder) for folder, part in parts.items())


def _shards(connection: Connection) -> list[int]:
    """Return the numbers of the shards, none where the documents are in this database."""
    return [place.number for place in find_places(connection)]


@contextmanager
def _parts(connection: Connection) -> Iterator[dict[str, Connection]]:
    """Begin transactions in the databases that have the documents; by their folder in the file.

    Shards that are split meanwhile are an error, before anything is committed.
    """
    places = find_places(connection)
    with ExitStack() as stack:
        parts = {f"{one.number}/": stack.enter_context(connect(one.url)) for one in places}
        parts = parts or {"": connection}
        for part in parts.values():
            stack.enter_context(part.transaction())
            part.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # others take turns
        yield parts
        if places and find_places(connection) != places:
            raise UserError("a shard was split or moved meanwhile", hint="run this again")


def _save_part(
    connection: Connection, collection_id: int, archive: zipfile.ZipFile, folder: str
) -> None:
    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    for part, statement in _SAVE.items():
        with (
            archive.open(f"{folder}{part}.copy", "w", force_zip64=True) as file,
            connection.cursor().copy(statement, {"id": collection_id}) as copy,
        ):
            for block in copy:
                file.write(block)


def _load_part(
    connection: Connection, collection: str, archive: zipfile.ZipFile, folder: str
) -> int:
    connection.execute(_STAGE)
    for part, statement in _LOAD.items():
        with (
            archive.open(f"{folder}{part}.copy") as file,
            connection.cursor().copy(statement) as copy,
        ):
            while block := file.read(_BLOCK):
                copy.write(block)
    load = "SELECT pgblend._load_segments(%(collection)s::text)"
    return int(fetch_value(connection, load, {"collection": collection}))


@contextmanager
def _opened(path: Path, shards: Sequence[int]) -> Iterator[zipfile.ZipFile]:
    """Open a file of this format and of these shards, or say what is wrong with it."""
    hint = "write one with: pgblend reindex --collection NAME --save FILE"
    try:
        with zipfile.ZipFile(path) as archive:
            about: dict[str, Any] = json.loads(archive.read("format.json"))
            if about.get("what") != "pgblend lexical index" or about.get("format") != FORMAT:
                raise UserError(
                    f"{path} has format {about.get('format')!r}: expected {FORMAT}", hint=hint
                )
            if about.get("shards", []) != shards:
                raise UserError(
                    f"{path} was saved {_told(about.get('shards', []))}, and this is a database "
                    f"{_told(shards)}",
                    hint="an index fits the shards it was saved of, and a split makes others: make "
                    "it anew with pgblend reindex --rebuild",
                )
            yield archive
    except (zipfile.BadZipFile, KeyError, ValueError, AttributeError, EOFError) as error:
        raise UserError(
            f"{path} is no saved lexical index, or damaged ({error})", hint=hint
        ) from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error


def _told(shards: Sequence[int]) -> str:
    """Say which shards these are."""
    return f"with the shards {', '.join(map(str, shards))}" if shards else "without shards"
