"""Queries and judgements into the database, all at once; and what stands in their way."""

import numpy as np

from pgblend.cli.database import Connection
from pgblend.cli.errors import UserError
from pgblend.cli.evaluate.judged_files import JudgedSet


def refuse_other(connection: Connection, name: str, collection: str, judged: JudgedSet) -> bool:
    """Return whether this very set is there; refuse a name that another one has."""
    stored = connection.execute(
        "SELECT FROM blend.judged_sets WHERE name = %s AND collection = %s", [name, collection]
    ).fetchone()
    if stored is None:
        return False
    if different := _difference(connection, name, collection, judged):
        raise UserError(
            f"collection {collection!r} has a judged set {name!r} already, {different}",
            hint="--replace puts this one in its place and deletes its runs; or choose another "
            "name",
        )
    return True


def _difference(
    connection: Connection, name: str, collection: str, judged: JudgedSet
) -> str | None:
    """Say in what the stored set differs from this one; None where it does not."""
    rows = connection.execute(
        "SELECT query_key, source_key, grade FROM blend.judgements"
        " WHERE judged_set = %s AND collection = %s",
        [name, collection],
    ).fetchall()
    if {(query, document): grade for query, document, grade in rows} != judged.judgements:
        return "with other judgements"
    queries = connection.execute(
        "SELECT q.key, q.query, q.embedding FROM pgblend_data.judged_query AS q"
        " WHERE q.set_id = (pgblend._judged_set(%s, %s)).id",
        [name, collection],
    ).fetchall()
    if {key: query for key, query, _ in queries} != judged.queries:
        return "with other queries"
    given = judged.vectors.queries if judged.vectors else {}
    for key, _, stored in queries:
        if (stored is None) != (key not in given):
            return "without vectors" if stored is None else "with vectors"
        if stored is not None and not np.array_equal(stored.to_numpy(), given[key]):
            return "with other vectors"
    return None


def rehearse(connection: Connection, name: str, collection: str, replace: bool) -> None:
    """Make the collection and the set, and take both back: a wrong name or a missing right is
    found before anything is stored."""
    with connection.transaction(force_rollback=True):
        found = connection.execute(
            "SELECT FROM blend.collections WHERE name = %s", [collection]
        ).fetchone()
        if found is None:
            connection.execute("SELECT blend.add_collection(%s)", [collection])
        if replace:
            connection.execute("SELECT blend.remove_judged_set(%s, %s)", [name, collection])
        connection.execute("SELECT blend.add_judged_set(%s, %s)", [name, collection])


def store_judged(
    connection: Connection,
    name: str,
    collection: str,
    judged: JudgedSet,
    model: str | None,
    description: str,
    replace: bool,
) -> None:
    """Store a set that is not there, or put it in the place of another, in one transaction."""
    with connection.transaction(), connection.cursor() as cursor:
        if replace:
            cursor.execute("SELECT blend.remove_judged_set(%s, %s)", [name, collection])
        made = cursor.execute(
            "SELECT blend.add_judged_set(%s, %s, %s, %s)", [name, collection, description, model]
        ).fetchone()
        row = cursor.execute(
            "SELECT id, collection_id FROM pgblend_data.judged_set WHERE id = %s", made
        ).fetchone()
        assert row is not None
        vectors = judged.vectors.queries if judged.vectors else {}
        cursor.executemany(
            "INSERT INTO pgblend_data.judged_query (set_id, collection_id, key, query, embedding)"
            " VALUES (%s, %s, %s, %s, %s)",
            [(*row, key, query, vectors.get(key)) for key, query in judged.queries.items()],
        )
        cursor.execute(
            "INSERT INTO pgblend_data.judgement (query_id, collection_id, source_key, grade)"
            " SELECT q.id, q.collection_id, j.source_key, j.grade"
            " FROM unnest(%s::text[], %s::text[], %s::integer[]) AS j (query, source_key, grade)"
            " INNER JOIN pgblend_data.judged_query AS q"
            " ON q.set_id = %s AND q.key = j.query",
            [
                [query for query, _ in judged.judgements],
                [document for _, document in judged.judgements],
                list(judged.judgements.values()),
                row[0],
            ],
        )
