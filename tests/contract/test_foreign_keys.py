"""Foreign keys are checked, and cascade, by an index of their own before there are statistics.

A session keeps the plan that it made while the tables were empty: one that looks through a whole
collection for each row makes storing, embedding and forgetting quadratic.
"""

import pytest
from psycopg import Connection

KEYS = """
    SELECT conname, conrelid::regclass::text, confrelid::regclass::text,
        ARRAY(SELECT a.attname::text FROM unnest(conkey) WITH ORDINALITY AS k (number, place)
            INNER JOIN pg_attribute AS a ON a.attrelid = conrelid AND a.attnum = k.number
            ORDER BY k.place),
        ARRAY(SELECT a.attname::text FROM unnest(confkey) WITH ORDINALITY AS k (number, place)
            INNER JOIN pg_attribute AS a ON a.attrelid = confrelid AND a.attnum = k.number
            ORDER BY k.place)
    FROM pg_constraint
    WHERE contype = 'f' AND connamespace = 'pgblend_data'::regnamespace
    ORDER BY conname
"""
STORE = """
    SELECT d.* FROM generate_series(1, 1000) AS n
    CROSS JOIN LATERAL blend.ingest_document(
        'many', 'notes/' || n, 'A note of [[notes/' || n - 1 || ']].',
        links => '[{"target": "notes/1", "kind": "wiki"}]') AS d
"""
REGISTRIES = {
    "pgblend_data.attached_table",
    "pgblend_data.shard_bucket",
}  # few rows, seldom deleted


def plan_of(connection: Connection, table: str, columns: list[str]) -> str:
    """Return the plan by which PostgreSQL looks for the rows of a key."""
    found = " AND ".join(f"{name} = ${place}" for place, name in enumerate(columns, 1))
    nothing = ", ".join(["NULL"] * len(columns))
    connection.execute(
        f"PREPARE of_key AS SELECT 1 FROM ONLY {table} AS x WHERE {found} FOR KEY SHARE OF x"
    )
    lines = connection.execute(f"EXPLAIN (COSTS OFF) EXECUTE of_key({nothing})").fetchall()
    connection.execute("DEALLOCATE of_key")
    return "\n".join(line for (line,) in lines)


@pytest.fixture(scope="module", params=["empty", "filled"])
def tables(request: pytest.FixtureRequest, module_connection: Connection) -> Connection:
    """Tables without statistics: nothing in them, or what a transaction is about to commit."""
    if request.param == "filled":
        module_connection.execute("BEGIN")
        module_connection.execute("SELECT blend.add_collection('many', 'english')")
        module_connection.execute(STORE)
    module_connection.execute("SET plan_cache_mode = force_generic_plan")
    return module_connection


@pytest.mark.parametrize("way", ["check", "cascade"])
def test_a_key_is_looked_up_by_its_own_index(tables: Connection, way: str) -> None:
    keys = tables.execute(KEYS).fetchall()
    assert len(keys) > 20
    wrong = []
    for name, child, parent, own, others in keys:
        table, columns = (parent, others) if way == "check" else (child, own)
        if table in REGISTRIES:
            continue
        with tables.transaction(force_rollback=True):
            tables.execute("SET LOCAL enable_seqscan = off")
            tables.execute("SET LOCAL enable_bitmapscan = off")
            plan = plan_of(tables, table, columns)
        # A collection may have all rows of a table; any other column of a key finds few.
        sought = plan.partition("Index Cond")[2].partition("Filter")[0]
        telling = [column for column in columns if column != "collection_id"] or columns
        if not any(f"{column} = $" in sought for column in telling):
            wrong.append(f"{name}: {plan}")
    assert not wrong, "\n".join(wrong)
