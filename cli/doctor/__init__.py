"""Checks of every part that a search needs: server, database objects, models."""

from pgblend.cli.database import connect
from pgblend.cli.doctor import models, objects, server
from pgblend.cli.doctor.check import Check, run
from pgblend.cli.errors import UserError


def run_checks(url: str) -> list[Check]:
    """Check everything; what cannot be reached ends the list, with what to do about it."""
    try:
        connection = connect(url, application_name="pgblend doctor", check=False)
    except UserError as error:
        return [Check("connection", "problem", error.message, error.hint)]
    with connection:
        info = connection.info
        found = f"{info.user} at {info.host or 'local socket'}:{info.port}, database {info.dbname}"
        checks = [Check("connection", "ok", found)]
        checks += run(server.CHECKS, connection)
        checks += run((lambda _: objects.migrations(url),), connection)
        if objects.is_migrated(connection):
            checks += run((*objects.CHECKS, *models.CHECKS), connection)
    return checks
