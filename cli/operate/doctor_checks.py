"""Checks of server, grants, shards, memory and certificates, and how all checks are run."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal, TypeAlias

from pgblend.cli.base import output
from pgblend.cli.base.database import (
    MINIMUM_SERVER_VERSION,
    MINIMUM_VECTOR_VERSION,
    SOUND_VECTOR_VERSION,
    Connection,
    fetch_rows,
    fetch_value,
    runs_outside,
    translate,
    version_tuple,
)
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.extras import missing
from pgblend.cli.base.places import find_places
from pgblend.cli.shards.members import problems_of

Status = Literal["ok", "warning", "problem", "skipped"]


@dataclass(frozen=True)
class Check:
    """One finding: what was looked at, how it stands, what was found, how to mend it.

    Several mends, or steps of one, are a sequence.
    """

    name: str
    status: Status
    found: str
    mend: str | Sequence[str] = ""

    @property
    def mends(self) -> list[str]:
        """The mends, each on a line of its own."""
        each = [self.mend] if isinstance(self.mend, str) else self.mend
        return [output.one_line(mend) for mend in each if mend]


CheckFunction: TypeAlias = Callable[[Connection], Iterable[Check]]


def run(functions: Iterable[CheckFunction], connection: Connection) -> list[Check]:
    """Run the checks one by one; one that fails is a finding, and the next ones go on."""
    checks: list[Check] = []
    for function in functions:
        try:
            checks += function(connection)
        except Exception as error:
            checks.append(_failed(function.__name__.replace("_", " "), error))
    return checks


def _failed(name: str, error: Exception) -> Check:
    """Say why a check could not be made.

    Neither a missing right nor a server without PL/Python is a fault of the installation.
    """
    advice = error if isinstance(error, UserError) else translate(error)
    if advice is None:
        raise error
    sqlstate = getattr(getattr(error, "orig", error), "sqlstate", None)
    status: Status = "skipped" if sqlstate in ("42501", "PB017") else "problem"
    return Check(name, status, advice.message, advice.hint.splitlines())


# Do the shards of a coordinator answer, and have they what they should?

_MEND = "see docs/shards.md; once it is mended: pgblend shards check"


def shards(connection: Connection) -> Iterator[Check]:
    """Check each shard, where there are any."""
    places = find_places(connection)
    found: dict[str, list[str]] = {}
    for name, problem in problems_of(connection) if places else ():
        found.setdefault(name, []).append(problem)
    for name, problems in found.items():
        yield Check(f"shard {name}", "problem", ", and ".join(problems), _MEND)
    if places and not found:
        names = ", ".join(place.name for place in places)
        yield Check("shards", "ok", f"{names} answer and have all changes")


# Does reranking gain, on the judged sets that were run with and without it?

_MODEL = "SELECT blend.get_setting('rerank_model') #>> '{}'"
_HAS_SETS = "SELECT EXISTS (SELECT FROM blend.judged_sets AS j WHERE j.judged_queries > 0)"


def reranking(connection: Connection) -> Iterator[Check]:
    """Say where reranking gains and where it costs, by the newest runs of each set and profile."""
    if missing("eval"):
        return
    from pgblend.cli.measure.compare import (
        METRIC,
        compare,  # numpy is of the extra
        reranking_runs,
        told_verdict,
    )

    model = fetch_value(connection, _MODEL)
    has_runs = False
    for without, reranked in reranking_runs(connection):
        has_runs = True
        verdict = compare(connection, without, reranked, METRIC)["reranking"]
        name = f"reranking of {verdict['set']} by {verdict['profile']}"
        loses = verdict["verdict"] == "loses"
        mend = "leave it out (pgblend config set rerank off), or try another rerank model"
        yield Check(
            name, "warning" if loses else "ok", told_verdict(verdict), mend if loses else ""
        )
    if model is not None and not has_runs and fetch_value(connection, _HAS_SETS):
        how = "run: pgblend eval run, and again with --option rerank=off"
        yield Check("reranking", "ok", f"whether {model} gains is not known ({how})")


# Do grants and tokens still belong to the roles that they were made for?

# What counts no more, and what counts by its name alone since it came from another server.
_ROLES = """
    WITH given AS (
        SELECT g.role_name, g.role_oid, g.made_in, pg_catalog.format('%s on %s', g.privilege,
                pg_catalog.quote_ident(c.name)) AS what,
            pg_catalog.format('revoke_collection(%L, %L)', c.name, g.role_name) AS mend
        FROM pgblend_data.collection_grant AS g
        INNER JOIN pgblend_data.collection AS c ON c.id = g.collection_id
        UNION ALL
        SELECT t.role_name, t.role_oid, t.made_in, pg_catalog.format('token %s', t.id),
            pg_catalog.format('pgblend serve token revoke %s', t.id)
        FROM pgblend_data.access_token AS t
    )
    SELECT pg_catalog.quote_ident(g.role_name) AS role, g.what, g.mend,
        g.made_in <> s.system_identifier AS is_by_name,
        CASE
            WHEN g.made_in <> s.system_identifier AND named.oid IS NULL THEN 'is not there'
            WHEN g.made_in <> s.system_identifier THEN ''
            WHEN numbered.oid IS NOT NULL THEN 'is called '
                || pg_catalog.quote_ident(numbered.rolname)
            WHEN named.oid IS NOT NULL THEN 'was made anew'
            ELSE 'was dropped'
        END AS found
    FROM given AS g
    CROSS JOIN pg_catalog.pg_control_system() AS s
    LEFT JOIN pg_catalog.pg_roles AS named ON named.rolname = g.role_name
    LEFT JOIN pg_catalog.pg_roles AS numbered ON numbered.oid = g.role_oid
    WHERE g.made_in <> s.system_identifier OR named.oid IS NULL OR g.role_oid IS NULL
        OR named.oid <> g.role_oid
    ORDER BY 4, 1, 5, 2
"""
_MAY_READ = "SELECT has_table_privilege('pgblend_data.access_token', 'select') AS may_read"


def roles(connection: Connection) -> Iterator[Check]:
    """Name roles whose grants and tokens count no more, or for whoever has the name."""
    if not fetch_rows(connection, _MAY_READ)[0]["may_read"]:
        return
    rows = fetch_rows(connection, _ROLES)
    foreign = [row for row in rows if row["is_by_name"]]
    stale = [row for row in rows if not row["is_by_name"]]
    for (role, found), group in groupby(stale, lambda row: (row["role"], row["found"])):
        given = list(group)
        what = ", ".join(row["what"] for row in given)
        mends = [
            "give the role of today what it needs: grant_collection, `serve token make`",
            *(f"take away what is left: {row['mend']}" for row in given),
        ]
        mends = list(dict.fromkeys(mends))
        yield Check(f"role {role}", "warning", f"{found}: {what} count for nobody", mends)
    if foreign:
        named = list(dict.fromkeys(f"{row['role']} {row['found']}".rstrip() for row in foreign))
        yield Check(
            "roles",
            "warning",
            f"{len(foreign)} grants and tokens came from another server and count for whoever "
            f"has the name: {', '.join(named)}",
            (
                "make roles that are not there, or revoke what they were given",
                "run: pgblend migrate up, which binds them to the roles of this server",
            ),
        )


# Is there a document that nobody can read but who may write it?

_UNREAD = """
    SELECT r.collection, count(*) AS documents,
        (array_agg(r.source_key ORDER BY r.source_key))[:3] AS source_keys
    FROM blend.document_rights AS r
    WHERE r.readers = '{}' AND pg_has_role('pgblend_admin', 'USAGE')
    GROUP BY r.collection
    ORDER BY r.collection
"""


def readers(connection: Connection) -> Iterator[Check]:
    """Name documents whose readers are gone, or that have none; a group may be anybody's."""
    for row in fetch_rows(connection, _UNREAD):
        named = ", ".join(row["source_keys"])
        more = ", …" if row["documents"] > len(row["source_keys"]) else ""
        yield Check(
            f"readers of documents in {row['collection']}",
            "warning",
            f"{row['documents']} have no reader that is there: {named}{more}; only who may write "
            "to the collection sees them",
            (
                "name readers: SELECT grant_document(collection, source_key, reader)",
                "or give them to all readers of the collection: "
                "SELECT set_document_readers(collection, source_key, NULL)",
            ),
        )


# From here on a search by who holds all of them takes twice as long (docs/security.md).
_MOST_SETS = 1000
_MANY_SETS = """
    SELECT c.name, count(*) AS sets
    FROM pgblend_data.collection AS s
    INNER JOIN pgblend_data.collection AS c ON s.parent_id = c.id
    GROUP BY c.name HAVING count(*) > %(most)s
    ORDER BY c.name
"""


def sets_of_readers(connection: Connection) -> Iterator[Check]:
    """Name collections whose documents have so many sets of readers that searches become slow."""
    for row in fetch_rows(connection, _MANY_SETS, {"most": _MOST_SETS}):
        yield Check(
            f"sets of readers in {row['name']}",
            "warning",
            f"{row['sets']:,}: a search looks for new words in each set that its reader holds, so "
            "who holds all waits for them",
            "name groups as readers, not people: documents with the same readers share a set",
        )


# The values of a tenant's column are asked for by each search of it.
_POLICIES = """
    SELECT a.table_name, c.name
    FROM pgblend_data.attached_table AS a
    INNER JOIN pgblend_data.collection AS c ON a.collection_id = c.id
    INNER JOIN pg_catalog.pg_class AS t ON t.oid = a.relation
    WHERE t.relrowsecurity AND a.rights_column IS NULL AND a.tenant_column IS NULL
    ORDER BY a.table_name
"""


def policies(connection: Connection) -> Iterator[Check]:
    """Name attached tables whose policies hide rows that searches find."""
    for row in fetch_rows(connection, _POLICIES):
        yield Check(
            f"row security of {row['table_name']}",
            "warning",
            f"its policies are not asked: whoever may read {row['name']} finds all rows",
            "say in a column what they say, detach the table, and attach it with rights_column",
        )


DATABASE_CHECKS = (roles, readers, sets_of_readers, policies, reranking, shards)


# Is what searches read in the server's memory?

_SEARCHES = 5
# Fewer cost no more than half a millisecond.
_FEW_PAGES = 50
_INDEX = """
    SELECT i.indexrelid AS index_id, pg_relation_size(i.indexrelid) AS bytes,
        pg_size_bytes(current_setting('shared_buffers')) AS shared_buffers,
        pg_size_pretty(pg_relation_size(i.indexrelid)) AS size,
        current_setting('shared_buffers') AS shared_buffers_size
    FROM pgblend_data.embedding_space AS s
    INNER JOIN pg_catalog.pg_class AS t
        ON t.relname = s.table_name AND t.relnamespace = 'pgblend_data'::regnamespace
    INNER JOIN pg_catalog.pg_index AS i ON i.indrelid = t.oid
    INNER JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
    INNER JOIN pg_catalog.pg_am AS a ON a.oid = c.relam
    WHERE s.active AND a.amname = 'hnsw'
"""
# Counted are pages that this transaction asked for, of the index alone.
_PAGES = """
    SELECT pg_catalog.pg_stat_get_xact_blocks_fetched(%(index_id)s) AS fetched,
        pg_catalog.pg_stat_get_xact_blocks_hit(%(index_id)s) AS found
"""
_SEARCH = """
    SELECT count(*) FROM blend.chunk_embeddings(ARRAY(
        SELECT (SELECT min(c.id) FROM pgblend_data.chunk AS c WHERE c.id >= l.least + l.step * p)
        FROM (
            SELECT min(c.id) AS least, (max(c.id) - min(c.id)) / %(searches)s AS step
            FROM pgblend_data.chunk AS c
        ) AS l CROSS JOIN generate_series(0, %(searches)s - 1) AS p)) AS e
    CROSS JOIN LATERAL blend.vector_search(
        NULL, query_embedding => e.embedding, options => '{"vector_scan": "index"}') AS r
"""


def vector_index_in_memory(connection: Connection) -> Iterator[Check]:
    """Check that some searches find what they walk over in shared_buffers."""
    for index in fetch_rows(connection, _INDEX):
        with connection.transaction():
            (before,) = fetch_rows(connection, _PAGES, index)
            connection.execute(_SEARCH, {"searches": _SEARCHES})
            (after,) = fetch_rows(connection, _PAGES, index)
        fetched = after["fetched"] - before["fetched"]
        if fetched == 0:
            continue
        outside = fetched - (after["found"] - before["found"])
        found = f"{_SEARCHES} searches fetched {fetched:,} pages of the vector index, "
        found += f"{outside:,} of them not in shared_buffers"
        if outside <= _FEW_PAGES * _SEARCHES:
            yield Check("memory", "ok", found)
        elif index["bytes"] > index["shared_buffers"]:
            mend = f"the index has {index['size']}, shared_buffers {index['shared_buffers_size']}: "
            mend += "raise it, or keep vectors smaller (pgblend space create --storage)"
            yield Check("memory", "warning", found, mend)
        else:
            yield Check("memory", "warning", f"{found}: the server is cold", "run: pgblend warm")


CACHE_CHECKS = (vector_index_in_memory,)


# Are the environment's files of certificates there?

# HTTP clients open them before they ask anything; the error of Python's `ssl` names no file.
VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


def certificates() -> Iterator[Check]:
    """Check that a gateway started from here could ask a provider over TLS."""
    named = {name: os.environ.get(name) for name in VARIABLES}
    gone = [
        f"{name} names {path}" for name, path in named.items() if path and not Path(path).exists()
    ]
    if gone:
        mend = "name a file of certificates (Debian: /etc/ssl/certs/ca-certificates.crt), "
        mend += "or unset the variable"
        yield Check("certificates", "problem", f"{', '.join(gone)}, which is not there", mend)


# Is the server new enough, and does it have the extensions and numpy?

_PACKAGES = {
    "vector": "pgvector (Debian: postgresql-NN-pgvector)",
    "pg_trgm": "PostgreSQL's contrib modules (Debian: part of postgresql-NN)",
    "plpython3u": "PL/Python (Debian: postgresql-plpython3-NN)",
}
_EXTENSIONS = """
    SELECT name, installed_version, default_version FROM pg_catalog.pg_available_extensions
    WHERE name = ANY (%(names)s::text[])
"""
_CAN_PROBE = """
    SELECT rolsuper AND EXISTS (
        SELECT FROM pg_catalog.pg_language WHERE lanname = 'plpython3u')
    FROM pg_catalog.pg_roles WHERE rolname = current_user
"""
# A block, since no function can be made on a standby; a setting of the transaction hands it out.
_PROBE = """
    DO LANGUAGE plpython3u $python$
    import platform
    found = "Python " + platform.python_version()
    try:
        import numpy
        found += ", numpy " + numpy.__version__
    except ImportError:
        pass
    plan = plpy.prepare("SELECT pg_catalog.set_config('pgblend.doctor', $1, true)", ["text"])
    plpy.execute(plan, [found])
    $python$
"""


def server_version(connection: Connection) -> Iterator[Check]:
    """Check that the server is PostgreSQL 15 or newer."""
    version = str(connection.info.parameter_status("server_version"))
    if connection.info.server_version >= MINIMUM_SERVER_VERSION:
        yield Check("server version", "ok", f"PostgreSQL {version}")
    else:
        yield Check("server version", "problem", f"PostgreSQL {version}", "upgrade to 15 or newer")


def extensions(connection: Connection) -> Iterator[Check]:
    """Check that each extension is installed in this database."""
    rows = fetch_rows(connection, _EXTENSIONS, {"names": list(_PACKAGES)})
    installed = {row["name"]: row["installed_version"] for row in rows}
    offered = {row["name"]: row["default_version"] for row in rows}
    workers = int(fetch_value(connection, "SHOW max_parallel_maintenance_workers"))
    is_outside = runs_outside(connection)
    for name, package in _PACKAGES.items():
        label = f"extension {name}"
        if is_outside and name == "plpython3u":
            found = "not used: the program runs in clients (migrate up --managed)"
            yield Check(label, "ok", found)
        elif name not in installed:
            yield Check(label, "problem", "not on the server", f"install {package}")
        elif installed[name] is None:
            yield Check(label, "problem", "not in this database", "run: pgblend migrate up")
        elif name == "vector":
            yield vector_version(installed[name], offered[name], parallel_builds=workers > 0)
        else:
            yield Check(label, "ok", installed[name])


def vector_version(installed: str, offered: str, *, parallel_builds: bool) -> Check:
    """Judge a version of pgvector: this database's, and the library's, which the server offers."""
    label, update = "extension vector", "ALTER EXTENSION vector UPDATE"
    sound = ".".join(map(str, SOUND_VECTOR_VERSION))
    if version_tuple(installed) < MINIMUM_VECTOR_VERSION:
        mend = f"install pgvector {sound} or newer, then: {update}"
        return Check(label, "problem", f"{installed} is too old", mend)
    if version_tuple(offered) >= SOUND_VECTOR_VERSION:
        return Check(label, "ok", installed)
    if parallel_builds:
        found = f"{installed} has known HNSW faults in parallel builds and vacuum"
        mends = (
            f"install pgvector {sound} or newer, then: {update}",
            "until then: ALTER SYSTEM SET max_parallel_maintenance_workers = 0",
        )
        return Check(label, "warning", found, mends)
    return Check(
        label, "ok", f"{installed}, without parallel builds; 'vector index' watches its vacuum"
    )


def server_python(connection: Connection) -> Iterator[Check]:
    """Check that PL/Python runs and finds numpy, also on a standby."""
    name = "server's Python"
    if runs_outside(connection):
        yield Check(name, "ok", "none is needed: the program runs in clients")
        return
    if not fetch_value(connection, _CAN_PROBE):
        mend = "run doctor as a superuser in a migrated database to check it"
        yield Check(name, "skipped", "not checked", mend)
        return
    with connection.transaction(force_rollback=True):
        connection.execute(_PROBE)
        found = fetch_value(connection, "SELECT current_setting('pgblend.doctor')")
    if "numpy" in found:
        yield Check(name, "ok", found)
    else:
        mend = "install numpy for the server's Python (Debian: python3-numpy)"
        yield Check(name, "warning", f"{found} without numpy: no lexical search", mend)


SERVER_CHECKS = (server_version, extensions, server_python)
