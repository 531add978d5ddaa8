"""What PostgreSQL's errors mean to a caller over HTTP."""

import logging

from pgblend.cli.database import translate
from pgblend.cli.errors import ExitCode, ModelUnavailableError, UserError
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.serve.problems import Problem

_log = logging.getLogger(__name__)
_RETRY_SECONDS = "1"
# SQLSTATEs, or their classes, with the status and the code of the problem.
_STATUS = (
    ("42501", 403, "forbidden"),
    ("57014", 504, "timeout"),
    ("PB001", 503, "vectors-unavailable"),
    ("PB002", 503, "index-not-ready"),
    ("PB003", 409, "no-passages"),
    ("PB008", 503, "model-unavailable"),
    ("PB009", 504, "timeout"),
    ("PB010", 409, "no-model"),
    ("PB012", 503, "busy"),
    ("PB013", 503, "words-unavailable"),
    ("PB014", 503, "shards-unavailable"),
    ("PB015", 503, "standby-behind"),
    ("PB016", 503, "busy"),
    ("PB", 409, "conflict"),
    ("40", 503, "busy"),
    ("55", 503, "busy"),
    ("53", 503, "busy"),
    ("0A", 400, "invalid-request"),
    ("21", 400, "invalid-request"),
    ("22", 400, "invalid-request"),
    ("23", 400, "invalid-request"),
    ("P0", 400, "invalid-request"),
    ("42704", 400, "invalid-request"),
    ("54", 400, "invalid-request"),
)


def any_problem(error: Exception) -> Problem:
    """Return any error as a problem; what is unexpected has its details in the log alone."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, GatewayError):
        return Problem.of(error)
    unexpected = Problem(500, "internal-error", "the server failed; its log has the details")
    return problem_of(error) or unexpected


def problem_of(error: BaseException) -> Problem | None:
    """Return an error of the database as a problem; None for any other error."""
    advice = error if isinstance(error, UserError) else translate(error)
    if advice is None:
        return None
    sqlstate: str | None = getattr(error, "sqlstate", None)
    if isinstance(advice, ModelUnavailableError):
        return Problem(
            503, "model-unavailable", advice.message, hint=advice.hint, retry_after=_RETRY_SECONDS
        )
    if advice.exit_code == ExitCode.DATABASE:
        return database_away(advice)
    for start, status, code in _STATUS:
        if (sqlstate or "").startswith(start):
            retry = _RETRY_SECONDS if code == "busy" else None
            return Problem(
                status,
                code,
                advice.message,
                hint=advice.hint,
                sqlstate=sqlstate,
                retry_after=retry,
            )
    if sqlstate is None:  # a value that cannot be sent, or an option that models refuse
        return Problem(400, "invalid-request", advice.message, hint=advice.hint)
    _log.error("unexpected error of the database", exc_info=error)
    message = f"the database refused the search with {sqlstate}; its log has the details"
    return Problem(500, "internal-error", message, sqlstate=sqlstate)


def database_away(advice: UserError) -> Problem:
    """Return the problem of a database that cannot be reached, with the reason."""
    detail = f"the database cannot be reached: {advice.message}"
    return Problem(503, "database-away", detail, hint=advice.hint, retry_after=_RETRY_SECONDS)
