"""Checks of every part that a search needs: extras, server, database objects, models."""

from collections.abc import Iterator

from pgblend.cli.database import Connection, connect, find_revision
from pgblend.cli.doctor import cache, grants, models, objects, reranking, server, shards
from pgblend.cli.doctor.certificates import certificates
from pgblend.cli.doctor.check import Check, run
from pgblend.cli.errors import UserError
from pgblend.cli.extras import MODULES, how_to_install, missing
from pgblend.cli.revision import known_revisions, unknown_revision


def run_checks(url: str) -> list[Check]:
    """Check everything; what cannot be reached ends the list, with what to do about it."""
    here = [extras(), *certificates()]
    try:
        connection = connect(url, application_name="pgblend doctor", check=False)
    except UserError as error:
        return [*here, Check("connection", "problem", error.message, error.hint)]
    with connection:
        info = connection.info
        found = f"{info.user} at {info.host or 'local socket'}:{info.port}, database {info.dbname}"
        checks = [*here, Check("connection", "ok", found)]
        checks += run(server.CHECKS, connection)
        revision = find_revision(connection)
        if revision is not None and revision not in known_revisions():
            unknown = unknown_revision(revision)
            return [*checks, Check("migrations", "problem", unknown.message, unknown.hint)]

        def migrations(opened: Connection) -> Iterator[Check]:
            return objects.migrations(opened, url)

        checks += run((migrations,), connection)
        if objects.is_migrated(connection):
            # Before the models' checks, which read the index.
            checks += run((*objects.CHECKS, *cache.CHECKS, *models.CHECKS), connection)
            checks += run((*grants.CHECKS, *reranking.CHECKS, *shards.CHECKS), connection)
    return checks


def extras() -> Check:
    """Name the extras that are installed here, and those that are not: no fault, but to know."""
    lacking = [extra for extra in MODULES if missing(extra)]
    found = ", ".join(extra for extra in MODULES if extra not in lacking) or "none"
    if lacking:
        found += f"; not installed: {', '.join(lacking)} ({how_to_install(','.join(lacking))})"
    return Check("extras", "ok", found)
