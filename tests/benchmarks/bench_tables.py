"""What an attached table costs its writer: `python tests/benchmarks/bench_tables.py DATABASE_URL…`.

Processor time of the server's process (which must be on this machine), a row, without triggers,
with one that does nothing on the same transition tables, and with those of an attached table: rows
of about 200 words, a chunk each, one and 100 a statement; updates of a column that the index does
not take; the same for triggers that fire by row. Makes a table and removes it. Databases of several
versions are measured in turns, and each write compared with the first one's.
"""

import sys

from timing import backend_ms

from pgblend.cli.base.database import Connection, connect

TABLE = "public.bench_tables"
ROWS = 400
# Words of a Zipf-like choice from some 5,000, the same each time.
TEXT = (
    "(SELECT string_agg(translate((5000 * power(random(), 3))::integer::text,"
    " '0123456789', 'aeioukmnst'), ' ') FROM generate_series(1, 200 + 0 * g))"
)
INSERT = f"INSERT INTO {TABLE} SELECT %s + g, {TEXT}, 0 FROM generate_series(1, {{}}) AS g"
UPDATE = f"UPDATE {TABLE} AS t SET body = (SELECT {TEXT} FROM (VALUES (t.id)) AS v (g))"
SOME = "WHERE id > %s AND id <= %s"
EMPTY = f"""
    CREATE OR REPLACE FUNCTION public.bench_nothing() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER nothing AFTER UPDATE ON {TABLE} REFERENCING OLD TABLE AS old_rows
    NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.bench_nothing();
"""
ATTACH = f"SELECT attach_table('{TABLE}', '{{{{body}}}}', row_level => {{}})"
STATES = {
    "plain": "",
    "empty trigger of updates": EMPTY,
    "by statement": ATTACH.format("false"),
    "by row": ATTACH.format("true"),
}
WRITES = {
    "insert, one row": (1, INSERT.format(1)),
    "insert, 100 rows": (100, INSERT.format(100)),
    "update the text, 100 rows": (100, f"{UPDATE} {SOME}"),
    "update another column, one row": (1, f"UPDATE {TABLE} SET views = views + 1 {SOME}"),
    "update another column, 100 rows": (100, f"UPDATE {TABLE} SET views = views + 1 {SOME}"),
    "delete, 100 rows": (100, f"DELETE FROM {TABLE} {SOME}"),
}


def main() -> None:
    """Measure all writes in three states of the table, and print ratios."""
    urls = sys.argv[1:]
    figures = {url: {label: dict.fromkeys(WRITES, 0.0) for label in STATES} for url in urls}
    rounds = 3 if len(urls) > 1 else 1
    for number in range(rounds):
        for url in urls[:: (-1) ** number]:
            with connect(url, check=False) as connection:
                for label, make in STATES.items():
                    for write, seconds in _measure(connection, make).items():
                        figures[url][label][write] += seconds / rounds
    for url in urls:
        for write in WRITES:
            plain, first = figures[url]["plain"][write], figures[urls[0]]
            parts = [
                f"{label} {1000 * figure[write]:.3f} ms ({figure[write] / max(plain, 1e-5):.0f}x"
                f", {figure[write] / max(first[label][write], 1e-5):.2f} of the first)"
                for label, figure in figures[url].items()
            ]
            print(f"{write:32} {', '.join(parts)}")


def _measure(connection: Connection, make: str) -> dict[str, float]:
    """Return seconds a row of each kind of write."""
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
    connection.execute(f"CREATE TABLE {TABLE} (id bigint PRIMARY KEY, body text, views integer)")
    connection.execute("SELECT setseed(0.5)")
    if make:
        connection.execute(make)
    seconds = {}
    try:
        for write, (size, statement) in WRITES.items():
            rows = ROWS if size > 1 else ROWS // 4
            base = 1_000_000 if size == 1 else 0  # the inserted ones
            start = backend_ms(connection)
            for first in range(base, base + rows, size):
                values = [first, first + size][: statement.count("%s")]
                connection.execute(statement, values)
            seconds[write] = (backend_ms(connection) - start) / 1000 / rows
    finally:
        if make.startswith("SELECT"):
            connection.execute(f"SELECT detach_table('{TABLE}')")
        connection.execute(f"DROP TABLE {TABLE}")
        connection.execute("DROP FUNCTION IF EXISTS public.bench_nothing")
    return seconds


if __name__ == "__main__":
    main()
