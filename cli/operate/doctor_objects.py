"""Are pgblend's own tables, indexes and routines as they should be?"""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from pgblend.cli.base.database import (
    Connection,
    connect,
    ended_after,
    fetch_rows,
    fetch_value,
    runs_outside,
    same_url,
)
from pgblend.cli.base.revision import PROGRAM_DIGEST, check_program, how_to_upgrade
from pgblend.cli.documents.language import CONFIGURATIONS
from pgblend.cli.operate.doctor_checks import Check

# The extension has routines before it has tables.
_IS_MIGRATED = """
    SELECT EXISTS (
        SELECT FROM pg_catalog.pg_class AS c
        WHERE c.relname = 'alembic_version'
            AND c.relnamespace = pg_catalog.to_regnamespace('pgblend_data'))
"""
_IS_EXTENSION = "SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pgblend')"
_INSTALL = "run, as a superuser: SELECT blend.install()"
# What a new session of this user starts with: this connection's own path differs.
_SEARCH_PATH = "SELECT reset_val FROM pg_catalog.pg_settings WHERE name = 'search_path'"
_SET_PATH = """
    SELECT pg_catalog.format('ALTER DATABASE %I SET search_path = "$user", public, blend',
        pg_catalog.current_database())
"""
_MAY_LOAD = "SELECT has_function_privilege('pgblend._load_program(text)', 'execute')"
_HAS_ATTACHED_VECTORS = """
    SELECT EXISTS (SELECT FROM pgblend_data.attached_table AS a WHERE a.space IS NOT NULL)
"""
_MAY_PARSE = """
    SELECT pg_catalog.has_function_privilege(p.oid, 'execute') FROM pg_catalog.pg_proc AS p
    WHERE p.proname = '_chunk_lexemes'
        AND p.pronamespace = pg_catalog.to_regnamespace('pgblend')
"""
# The first passages of documents, whose words no others before them change. They are of the oldest,
# which older rules made, and the newest. What rules change has digits, signs, capitals within
# words.
_OTHER_WORDS = """
    SELECT n.name
    FROM pgblend_data.collection AS n
    CROSS JOIN LATERAL (
        SELECT d.source_key, d.title, c.*
        FROM (
            (SELECT o.id, o.source_key, o.title FROM pgblend_data.document AS o
            WHERE o.collection_id = n.id ORDER BY o.id LIMIT 500)
            UNION
            (SELECT o.id, o.source_key, o.title FROM pgblend_data.document AS o
            WHERE o.collection_id = n.id ORDER BY o.id DESC LIMIT 500)
        ) AS d
        INNER JOIN pgblend_data.chunk AS c ON c.document_id = d.id AND c.chunk_index = 0
        WHERE NOT EXISTS (SELECT FROM pgblend_data.unsettled AS u WHERE u.document_id = d.id)
        ORDER BY c.content !~ '[0-9].?[0-9]|[^\x01-\x7f]|[[:lower:]][[:upper:]]', d.id
        LIMIT %(most)s
    ) AS c
    CROSS JOIN LATERAL pgblend._chunk_lexemes(
        pgblend._regconfig(c.text_search_config), c.source_key, c.title, c.heading, false,
        c.content, c.own_start, 0, c.context, c.own_headings) AS l
    WHERE l.lexemes <> c.lexemes
    GROUP BY n.name
    ORDER BY n.name
"""
_MOST_PARSED = 40
# The worker looks every minute: what waits for ten has none.
_UNSETTLED = """
    SELECT count(*) AS documents, min(u.noted_at) AS oldest,
        min(u.noted_at) < pg_catalog.now() - interval '10 minutes' AS is_late
    FROM pgblend_data.unsettled AS u
"""
_INVALID_INDEXES = """
    SELECT i.indexrelid::pg_catalog.regclass::text AS name
    FROM pg_catalog.pg_index AS i
    INNER JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
    WHERE c.relnamespace = pg_catalog.to_regnamespace('pgblend_data')
        AND NOT (i.indisvalid AND i.indisready)
    ORDER BY 1
"""
_UNSECURED_TABLES = """
    SELECT c.relname AS name
    FROM pg_catalog.pg_class AS c
    WHERE c.relnamespace = pg_catalog.to_regnamespace('pgblend_data') AND NOT c.relrowsecurity
        AND (c.relname IN ('document', 'chunk')
            OR EXISTS (SELECT FROM pg_catalog.pg_policy AS p WHERE p.polrelid = c.oid))
    ORDER BY 1
"""
# Only a superuser may look into the server's folders.
_MAY_WANT_DICTIONARIES = """
    SELECT r.rolsuper AND EXISTS (
        SELECT FROM pgblend_data.collection_language AS l WHERE l.text_search_config = 'simple')
    FROM pg_catalog.pg_roles AS r WHERE r.rolname = current_user
"""
# Hunspell's are called as the languages of their countries are: pl_pl, ca_es_valencia.
_DICTIONARIES = """
    SELECT f.name
    FROM pg_catalog.pg_config AS c
    CROSS JOIN LATERAL pg_catalog.pg_ls_dir(c.setting || '/tsearch_data') AS l (file)
    CROSS JOIN LATERAL (SELECT pg_catalog.regexp_replace(l.file, '[.]affix$', '')) AS f (name)
    WHERE c.name = 'SHAREDIR' AND l.file ~ '^[a-z]{2,3}_[a-z0-9_]+[.]affix$'
        AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_ts_dict AS d
            WHERE pg_catalog.strpos(
                d.dictinitoption, pg_catalog.quote_literal(f.name)) > 0)
    ORDER BY 1
"""
# Ours, where the owner alone creates; the extensions', which are in the routines' search_path.
_WRITABLE_SCHEMAS = """
    SELECT DISTINCT pg_catalog.quote_ident(n.nspname) AS name,
        CASE a.grantee WHEN 0 THEN 'PUBLIC'
            ELSE a.grantee::pg_catalog.regrole::text END AS grantee
    FROM pg_catalog.pg_namespace AS n
    CROSS JOIN LATERAL pg_catalog.aclexplode(n.nspacl) AS a
    LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee
    WHERE a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner AND r.rolsuper IS NOT TRUE AND (
        n.nspname IN ('blend', 'pgblend', 'pgblend_data')
        OR n.oid IN (
            SELECT e.extnamespace FROM pg_catalog.pg_extension AS e
            WHERE e.extname IN ('vector', 'pg_trgm')))
    ORDER BY 1, 2
"""
# Reading an attached table runs code of its owner, which may take for ever.
_MOST_SECONDS = 120.0
_LEXICAL_INDEXES = "SELECT * FROM blend.lexical_status()"
_MAY_READ_INDEX = "SELECT pg_catalog.pg_has_role('pgblend_reader', 'USAGE')"
_UNSOUND = ("error", "uninitialized")
# Whoever owns a schema may drop it with all that is in it, whoever that belongs to.
_OWNED_SCHEMAS = """
    SELECT DISTINCT pg_catalog.quote_ident(n.nspname) AS name,
        pg_catalog.quote_ident(r.rolname) AS owner, e.extname AS extension
    FROM pg_catalog.pg_extension AS e
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
    LEFT JOIN pg_catalog.pg_database AS d
        ON n.nspowner = pg_catalog.to_regrole('pg_database_owner')
        AND d.datname = pg_catalog.current_database()
    INNER JOIN pg_catalog.pg_roles AS r ON r.oid = coalesce(d.datdba, n.nspowner)
    WHERE e.extname IN ('vector', 'pg_trgm') AND NOT r.rolsuper
    ORDER BY 1, 3
"""
# A trusted one belongs to whoever made it.
_OWNED_EXTENSIONS = """
    SELECT pg_catalog.quote_ident(e.extname) AS name, pg_catalog.quote_ident(r.rolname) AS owner
    FROM pg_catalog.pg_extension AS e
    INNER JOIN pg_catalog.pg_roles AS r ON r.oid = e.extowner AND NOT r.rolsuper
    WHERE e.extname IN ('vector', 'pg_trgm', 'plpython3u')
    ORDER BY 1
"""
# Of libc or ICU. That of "C" has no version, and changes with nothing.
_CHANGED_COLLATION = """
    SELECT pg_catalog.quote_ident(datname) AS name, datcollversion AS made, found
    FROM pg_catalog.pg_database
    CROSS JOIN LATERAL pg_catalog.pg_database_collation_actual_version(oid) AS found
    WHERE datname = pg_catalog.current_database() AND datcollversion <> found
"""


def is_migrated(connection: Connection) -> bool:
    """Tell whether the database has pgblend's tables."""
    return bool(fetch_value(connection, _IS_MIGRATED))


def is_extension(connection: Connection) -> bool:
    """Tell whether pgblend is an extension of the database, which migrations refuse."""
    return bool(fetch_value(connection, _IS_EXTENSION))


def migrations(connection: Connection, url: str) -> Iterator[Check]:
    """Check that the database is at the newest revision and its routines are unchanged."""
    from pgblend.migrations import runner

    status = runner.status(url)
    current = status["current"] or "base"
    extension = is_extension(connection)
    if status["pending"]:
        pending = ", ".join(status["pending"])
        mend = how_to_upgrade(is_extension=extension)
        if extension and not status["current"]:
            mend = _INSTALL
        yield Check("migrations", "problem", f"at {current}, pending: {pending}", mend)
    elif status["drift"]:
        yield Check(
            "migrations",
            "warning",
            f"at {current}, routines differ from this version's",
            f"{_INSTALL}, the extension's own with ALTER EXTENSION pgblend UPDATE"
            if extension
            else "run: pgblend migrate apply",
        )
    else:
        yield Check("migrations", "ok", f"at {current}, the newest")


def search_path(connection: Connection) -> Iterator[Check]:
    """Check that new sessions find hybrid_search() without a schema name."""
    path = fetch_value(connection, _SEARCH_PATH)
    if "blend" in [schema.strip(' "') for schema in path.split(",")]:
        yield Check("search_path", "ok", path)
    else:
        set_path = "run: pgblend migrate up"
        if is_extension(connection):
            set_path = fetch_value(connection, _SET_PATH)
        yield Check(
            "search_path",
            "warning",
            f"{path}: without blend",
            f"{set_path} (a dump leaves this setting out), "
            "and see whether the role sets a search_path of its own",
        )


def invalid_indexes(connection: Connection) -> Iterator[Check]:
    """Check that no index was left half-built."""
    names = [row["name"] for row in fetch_rows(connection, _INVALID_INDEXES)]
    if names:
        mends = [f"REINDEX INDEX CONCURRENTLY {name}" for name in names]
        yield Check("indexes", "problem", f"invalid: {', '.join(names)}", mends)
    else:
        yield Check("indexes", "ok", "all valid")


def collation(connection: Connection) -> Iterator[Check]:
    """Check that the system sorts texts as it did when indexes were built; else rows are missed."""
    for row in fetch_rows(connection, _CHANGED_COLLATION):
        mends = (
            f"REINDEX DATABASE {row['name']}",
            f"then: ALTER DATABASE {row['name']} REFRESH COLLATION VERSION",
        )
        found = f"indexes were built with version {row['made']}, the system has {row['found']}"
        yield Check("collation", "warning", found, mends)


def program(connection: Connection) -> Iterator[Check]:
    """Check that sessions load the program's compiled code; else each compiles its text.

    Where it runs in clients, check that this one has the program that the routines are made for.
    """
    if not fetch_value(connection, _MAY_LOAD):
        mend = "run doctor as a member of pgblend_reader"
        yield Check("program", "skipped", "not checked", mend)
    elif runs_outside(connection):
        check_program(fetch_value(connection, PROGRAM_DIGEST))
        yield Check("program", "ok", "runs in clients; this one has the program of the routines")
    elif fetch_value(connection, "SELECT pgblend._load_program()"):
        yield Check("program", "ok", "compiled by this server's Python")
    else:
        found = "its compiled code is of another Python or program: sessions compile it themselves"
        mend = _INSTALL if is_extension(connection) else "run: pgblend migrate up"
        yield Check("program", "warning", found, f"{mend} (on the primary)")


def row_security(connection: Connection) -> Iterator[Check]:
    """Check that row security is on wherever a policy guards a collection's rows."""
    names = [row["name"] for row in fetch_rows(connection, _UNSECURED_TABLES)]
    if names:
        mends = [f"ALTER TABLE pgblend_data.{name} ENABLE ROW LEVEL SECURITY" for name in names]
        yield Check("row security", "problem", f"off for {', '.join(names)}", mends)
    else:
        yield Check("row security", "ok", "on")


def _attached_vectors(connection: Connection) -> list[dict[str, Any]]:
    """Return how many rows of attached tables have a vector."""
    if not fetch_value(connection, _HAS_ATTACHED_VECTORS):
        return []
    return fetch_rows(connection, "SELECT * FROM blend.attached_vectors()")


@contextmanager
def _limited(connection: Connection) -> Iterator[Connection]:
    """Yield a session of its own, which may be ended."""
    with (
        connect(same_url(connection), application_name="pgblend doctor") as reading,
        ended_after(reading, _MOST_SECONDS),
    ):
        yield reading


def attached_tables(connection: Connection) -> Iterator[Check]:
    """Check that attached tables are followed: columns, triggers, rows and documents."""
    try:
        with _limited(connection) as reading:
            problems = fetch_rows(reading, "SELECT * FROM blend.check_attached_tables()")
            vectors = _attached_vectors(reading)
    except psycopg.OperationalError:
        yield Check(
            "attached tables",
            "problem",
            "reading their keys did not end in time",
            "a policy or a type of a table's owner may sleep. Where tables are large, see "
            "yourself: SELECT * FROM blend.check_attached_tables()",
        )
        return
    for row in problems:
        yield Check(f"table {row['table_name']}", "problem", row["problem"], row["mend"])
    count = fetch_value(connection, "SELECT count(*) FROM pgblend_data.attached_table")
    if count and not problems:
        yield Check("attached tables", "ok", f"{count} followed, rows and documents agree")
    for row in vectors:
        told = f"{row['vectors']:,} of {row['rows']:,} rows have a vector of their own"
        if row["long_rows"]:
            told += f", {row['long_rows']:,} are longer than a passage, the first of which has it"
        if row["without_vector"]:
            told += f". Without: {row['examples'] or 'their table may not be read'}"
            mend = "give these rows vectors of the model: they are taken over as they come"
            yield Check(f"vectors of {row['table_name']}", "warning", told, mend)
        else:
            yield Check(f"vectors of {row['table_name']}", "ok", told)


def writable_schemas(connection: Connection) -> Iterator[Check]:
    """Check that others cannot make objects in our schemas and those that our routines look into.

    A search calls routines of that path by the rights of whoever searches. Triggers on
    attached tables call them by their owner's. What fits better there than pg_catalog's own is
    called in its place.
    """
    rows = fetch_rows(connection, _WRITABLE_SCHEMAS)
    if rows:
        mends = [f"REVOKE CREATE ON SCHEMA {r['name']} FROM {r['grantee']}" for r in rows]
        found = ", ".join(f"{r['grantee']} may create objects in {r['name']}" for r in rows)
        yield Check("schemas", "warning", found, mends)


def owned_schemas(connection: Connection) -> Iterator[Check]:
    """Check that nobody but superusers may drop the extensions, and vectors with them."""
    if runs_outside(connection):
        return  # its owner has what is in it, superuser or not
    for row in fetch_rows(connection, _OWNED_SCHEMAS):
        found = f"{row['owner']} owns {row['name']}, the schema of the extension {row['extension']}"
        mends = (
            f"ALTER SCHEMA {row['name']} OWNER TO a superuser, or "
            f"ALTER EXTENSION {row['extension']} SET SCHEMA to one of a superuser's",
            "then: pgblend migrate up",
        )
        yield Check("schemas", "warning", f"{found}, and may drop it with all vectors", mends)
    for row in fetch_rows(connection, _OWNED_EXTENSIONS):
        found = f"{row['owner']} owns the extension {row['name']}, and may drop it with all indexes"
        mend = f"REASSIGN OWNED BY {row['owner']} TO a superuser, in this database"
        yield Check("schemas", "warning", found, mend)


def indexed_words(connection: Connection) -> Iterator[Check]:
    """Parse passages anew: other rules or dictionaries may have made the words that are indexed."""
    if not fetch_value(connection, _MAY_PARSE):
        return
    with connection.transaction(force_rollback=True):
        connection.execute("SET LOCAL client_min_messages = error")
        rows = fetch_rows(connection, _OTHER_WORDS, {"most": _MOST_PARSED})
    others = [row["name"] for row in rows]
    if others:
        found = f"made by other rules or dictionaries in {', '.join(others)}: words may be missed"
        mend = "run: pgblend reindex --rebuild (searches go on, nothing is embedded)"
        yield Check("indexed words", "warning", found, mend)
    else:
        found = f"as passages are parsed now, of {_MOST_PARSED} documents of each collection"
        yield Check("indexed words", "ok", found)


def lexical_index(connection: Connection) -> Iterator[Check]:
    """Check that each collection has an index of its words that is whole, by reading all of it."""
    if not fetch_value(connection, _MAY_READ_INDEX):
        mend = "run doctor as a member of pgblend_reader"
        yield Check("lexical index", "skipped", "not checked", mend)
        return
    try:
        with _limited(connection) as reading:
            rows = fetch_rows(reading, _LEXICAL_INDEXES)
    except psycopg.OperationalError:
        mend = "see yourself, where nothing ends it: pgblend reindex --status"
        yield Check("lexical index", "skipped", "reading all of it did not end in time", mend)
        return
    wrong = [row for row in rows if row["status"] in _UNSOUND]
    for row in wrong:
        name, status = row["collection_name"], row["status"]
        found = f"{status}: {row['last_error'] or 'there is none, so its words find nothing'}"
        mend = f"run: pgblend reindex --rebuild -c {shlex.quote(name)}"
        yield Check(f"lexical index of {name}", "problem", found, mend)
    if rows and not wrong:
        chunks = sum(row["chunks"] for row in rows)
        found = f"{len(rows):,} whole, with {chunks:,} chunks"
        yield Check("lexical index", "ok", found)


def unsettled(connection: Connection) -> Iterator[Check]:
    """Name documents that plain SQL wrote and no worker has looked at, with a program outside."""
    if not runs_outside(connection) or not fetch_value(connection, _MAY_READ_INDEX):
        return
    (row,) = fetch_rows(connection, _UNSETTLED)
    if row["documents"]:
        found = (
            f"{row['documents']:,} wait for a worker, the first since {row['oldest']:%F %H:%M}: "
            "they are found by their words, and lack links, vectors and a place in the index"
        )
        mend = "start a worker that stays, as the database's owner: pgblend worker"
        yield Check("documents by SQL", "problem" if row["is_late"] else "warning", found, mend)


def dictionaries(connection: Connection) -> Iterator[Check]:
    """Name Hunspell dictionaries that nothing uses, where texts are stored as they are written."""
    if not fetch_value(connection, _MAY_WANT_DICTIONARIES):
        return
    there = [row["name"] for row in fetch_rows(connection, _DICTIONARIES)]
    waiting = [name for name in there if name.split("_")[0] not in CONFIGURATIONS]
    if waiting:
        found = (
            f"not used: {', '.join(waiting)}. Texts of these languages are found as written only"
        )
        mend = "SELECT blend.create_hunspell_config('polish', 'pl_pl') for pl_pl, and so on"
        yield Check("dictionaries", "skipped", found, mend)


CHECKS = (
    search_path,
    program,
    lexical_index,
    indexed_words,
    unsettled,
    dictionaries,
    invalid_indexes,
    collation,
    row_security,
    attached_tables,
    writable_schemas,
    owned_schemas,
)
