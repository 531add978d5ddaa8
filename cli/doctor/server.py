"""Is the server new enough, and does it have the extensions and numpy?"""

from collections.abc import Iterator

from pgblend.cli.database import (
    MINIMUM_SERVER_VERSION,
    MINIMUM_VECTOR_VERSION,
    SOUND_VECTOR_VERSION,
    Connection,
    fetch_rows,
    fetch_value,
    version_tuple,
)
from pgblend.cli.doctor.check import Check

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
    for name, package in _PACKAGES.items():
        label = f"extension {name}"
        if name not in installed:
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


CHECKS = (server_version, extensions, server_python)
