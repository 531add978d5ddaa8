"""Checks of every part that a search needs: extras, server, database objects, models."""

from collections.abc import Iterator

from pgblend.cli.base.database import Connection, connect, find_revision
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.extras import MODULES, how_to_install, missing
from pgblend.cli.base.revision import known_revisions, unknown_revision
from pgblend.cli.operate import doctor_checks, doctor_models, doctor_objects
from pgblend.cli.operate.doctor_checks import Check, certificates, run


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
        checks += run(doctor_checks.SERVER_CHECKS, connection)
        revision = find_revision(connection)
        if revision is not None and revision not in known_revisions():
            unknown = unknown_revision(revision)
            return [*checks, Check("migrations", "problem", unknown.message, unknown.hint)]

        def migrations(opened: Connection) -> Iterator[Check]:
            return doctor_objects.migrations(opened, url)

        checks += run((migrations,), connection)
        if doctor_objects.is_migrated(connection):
            # Before the models' checks, which read the index.
            checks += run(
                (*doctor_objects.CHECKS, *doctor_checks.CACHE_CHECKS, *doctor_models.CHECKS),
                connection,
            )
            checks += run(
                (
                    *doctor_checks.GRANTS_CHECKS,
                    *doctor_checks.RERANKING_CHECKS,
                    *doctor_checks.SHARDS_CHECKS,
                ),
                connection,
            )
    return checks


def extras() -> Check:
    """Name the extras that are installed here, and those that are not: no fault, but to know."""
    lacking = [extra for extra in MODULES if missing(extra)]
    found = ", ".join(extra for extra in MODULES if extra not in lacking) or "none"
    if lacking:
        found += f". Not installed: {', '.join(lacking)} ({how_to_install(','.join(lacking))})"
    return Check("extras", "ok", found)
