"""Searches by one Python driver in all its ways; prints what each found. The place is in PG*."""

import asyncio
import os
import sys

QUESTION = "undo a release"
SEARCH = "SELECT source_key, score FROM blend.lexical_search({}, 5)"
MANY = (
    "SELECT g, h.source_key FROM generate_series(1, 5) AS g,"
    " LATERAL blend.lexical_search('deploy ' || g, 3) AS h"
)
HOST, PORT, DATABASE, USER, PASSWORD = (
    os.environ[f"PG{name}"] for name in ("HOST", "PORT", "DATABASE", "USER", "PASSWORD")
)


def show(way, rows):
    print(way, [tuple(row) for row in rows])


async def in_asyncpg(**options):
    import asyncpg

    connection = await asyncpg.connect(**options)
    search = SEARCH.format("$1")
    for _ in range(3):
        show("fetch", await connection.fetch(search, QUESTION))
    async with connection.transaction():
        show("transaction", await connection.fetch(search, QUESTION))
        show("cursor", [row async for row in connection.cursor(MANY, prefetch=2)])
        try:
            async with connection.transaction():
                await connection.fetch("SELECT 1 / 0 FROM blend.lexical_search('release')")
        except asyncpg.DivisionByZeroError:
            show("after a savepoint", await connection.fetch(search, QUESTION))
    heard = asyncio.Event()
    await connection.add_listener("door", lambda *_: heard.set())
    await connection.execute("NOTIFY door")
    await asyncio.wait_for(heard.wait(), 60)
    await connection.close()


def asyncpg():
    asyncio.run(in_asyncpg())
    asyncio.run(in_asyncpg(statement_cache_size=0))


async def in_psycopg():
    import psycopg

    async with await psycopg.AsyncConnection.connect(autocommit=True) as connection:
        asked = SEARCH.format("%s"), (QUESTION,)
        show("async", await (await connection.execute(*asked)).fetchall())
        async with connection.pipeline():
            cursors = [await connection.execute(*asked) for _ in range(4)]
            show("pipeline", [row for one in cursors for row in await one.fetchall()])
        async with connection.transaction(), connection.pipeline():
            cursors = [await connection.execute(*asked) for _ in range(4)]
            show("transaction", [row for one in cursors for row in await one.fetchall()])
        async with connection.transaction(), connection.cursor("bits") as cursor:
            await cursor.execute(MANY)
            show("cursor", await cursor.fetchmany(2) + await cursor.fetchall())


def psycopg():
    import psycopg

    asyncio.run(in_psycopg())
    with psycopg.connect() as connection:
        for _ in range(7):
            show("sync", connection.execute(SEARCH.format("%s"), (QUESTION,)).fetchall())
        with connection.cursor() as cursor:
            cursor.executemany(SEARCH.format("%s"), [(QUESTION,), ("deploy",)], returning=True)
            show("many", cursor.fetchall())
        with connection.cursor().copy(f"COPY ({MANY}) TO STDOUT") as copy:
            show("copy", copy.rows())
        with psycopg.ClientCursor(connection) as cursor:
            show("client", cursor.execute(SEARCH.format("%s"), (QUESTION,)).fetchall())


def sqlalchemy():
    import sqlalchemy as sa

    for driver in ("psycopg", "psycopg2"):
        with sa.create_engine(f"postgresql+{driver}://").connect() as connection:
            asked = sa.text(SEARCH.format(":q")), {"q": QUESTION}
            for _ in range(3):
                show(driver, connection.execute(*asked))
            many = sa.text(MANY.replace(":", r"\:"))
            streamed = {"stream_results": True, "yield_per": 2}
            show("streamed", connection.execute(many, execution_options=streamed))
            try:
                with connection.begin_nested():
                    connection.execute(sa.text("SELECT 1 / 0 FROM blend.lexical_search('a')"))
            except sa.exc.DataError:
                show("after a savepoint", connection.execute(*asked))


def pandas():
    import pandas as pd
    import sqlalchemy as sa

    with sa.create_engine("postgresql+psycopg://").connect() as connection:
        show("whole", pd.read_sql(SEARCH.format("%s"), connection, params=(QUESTION,)).values)
        for chunk in pd.read_sql(sa.text(MANY), connection, chunksize=2):
            show("chunk", chunk.values)


def django():
    import django as framework
    from django.conf import settings

    place = {"HOST": HOST, "PORT": PORT, "NAME": DATABASE, "USER": USER, "PASSWORD": PASSWORD}
    settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", **place}})
    framework.setup()
    from django.db import connection, models, transaction

    class Hit(models.Model):
        source_key = models.TextField(primary_key=True)
        score = models.FloatField()

        class Meta:
            app_label, managed = "hits", False

    asked = SEARCH.format("%s"), [QUESTION]
    with connection.cursor() as cursor:
        cursor.execute(*asked)
        show("cursor", cursor.fetchall())
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(*asked)
        show("atomic", cursor.fetchall())
    show("raw", ((hit.source_key, hit.score) for hit in Hit.objects.raw(*asked)))
    show("bits", ((hit.source_key, hit.score) for hit in Hit.objects.raw(*asked).iterator()))


def odbc():
    import pyodbc

    place = f"SERVER={HOST};PORT={PORT};DATABASE={DATABASE};UID={USER};PWD={PASSWORD}"
    for more in ("", ";UseDeclareFetch=1;Fetch=2", ";UseServerSidePrepare=0"):
        cursor = pyodbc.connect(f"DRIVER=PostgreSQL Unicode;{place}{more}").cursor()
        for _ in range(3):
            show(more, cursor.execute(SEARCH.format("?"), QUESTION).fetchall())
        show("many", cursor.execute(MANY).fetchall())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
