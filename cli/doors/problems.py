"""Errors as RFC 9457's problem details: what is wrong, and what to do about it."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from pgblend.cli.base.database import advice_for_statement, translate
from pgblend.cli.base.errors import ExitCode, ModelUnavailableError, UserError
from pgblend.cli.models.openai_errors import GatewayError
from pgblend.cli.search.outside import StatementError
from pgblend.plpy.base.session import ProgramError

MEDIA_TYPE = "application/problem+json"
# Their clients read errors as OpenAI's API writes them.
OPENAI_PATHS = ("/v1/chat/completions", "/v1/models")
_PREFIX = "urn:pgblend:problem:"


def retry_after(seconds: str | None) -> dict[str, str]:
    """Return the header that says when to ask again, none where nobody knows."""
    return {"Retry-After": seconds} if seconds else {}


class Problem(Exception):
    """A refusal or failure with an HTTP status and a code that a caller can branch on."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        hint: str = "",
        sqlstate: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.hint = hint
        self.sqlstate = sqlstate
        self.headers = headers or {}

    @classmethod
    def of(cls, error: GatewayError) -> "Problem":
        """Return what the gateway's modules refuse as a problem."""
        code = error.code.replace("_", "-")
        return cls(error.status, code, error.message, headers=retry_after(error.retry_after))

    def body(self) -> dict[str, Any]:
        """Return type, title, status and detail; hint and sqlstate where there are any."""
        more = {"hint": self.hint, "sqlstate": self.sqlstate}
        return {
            "type": f"{_PREFIX}{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **{name: value for name, value in more.items() if value},
        }

    def openai_body(self) -> dict[str, Any]:
        """Return the same as OpenAI's API writes it."""
        detail = f"{self.detail} ({self.hint})" if self.hint else self.detail
        return GatewayError(self.status, self.code.replace("-", "_"), detail).body()

    def response(self, path: str) -> JSONResponse:
        """Return the answer that tells a client about this problem, in the shape of its path."""
        if path.startswith(OPENAI_PATHS):
            return JSONResponse(self.openai_body(), self.status, headers=self._headers())
        return JSONResponse(
            self.body(), self.status, headers=self._headers(), media_type=MEDIA_TYPE
        )

    def _headers(self) -> dict[str, str]:
        headers = dict(self.headers)
        if self.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        return headers


SCHEMA = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "additionalProperties": False,
    "properties": {
        "type": {"type": "string", "pattern": f"^{_PREFIX}"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong."},
        "hint": {"type": "string", "description": "What to do about it."},
        "sqlstate": {"type": "string", "description": "PostgreSQL's code of the error."},
    },
}


# What PostgreSQL's errors mean to a caller over HTTP.

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
    ("PB017", 501, "program-outside"),
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
    unexpected = Problem(500, "internal-error", "the server failed: its log has the details")
    return problem_of(error) or unexpected


def problem_of(error: BaseException) -> Problem | None:
    """Return an error of the database or the program as a problem; None for any other error."""
    advice = error if isinstance(error, UserError) else translate(error)
    if isinstance(error, StatementError | ProgramError):
        advice = advice_for_statement(error.sqlstate, error.args[0], error.hint or "")
    if advice is None:
        return None
    sqlstate: str | None = getattr(error, "sqlstate", None)
    if isinstance(advice, ModelUnavailableError):
        return Problem(
            503,
            "model-unavailable",
            advice.message,
            hint=advice.hint,
            headers=retry_after(_RETRY_SECONDS),
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
                headers=retry_after(retry),
            )
    if sqlstate is None:  # a value that cannot be sent, or an option that models refuse
        return Problem(400, "invalid-request", advice.message, hint=advice.hint)
    _log.error("unexpected error of the database", exc_info=error)
    message = f"the database refused the search with {sqlstate}: its log has the details"
    return Problem(500, "internal-error", message, sqlstate=sqlstate)


def database_away(advice: UserError) -> Problem:
    """Return the problem of a database that cannot be reached, with the reason."""
    detail = f"the database cannot be reached: {advice.message}"
    return Problem(
        503, "database-away", detail, hint=advice.hint, headers=retry_after(_RETRY_SECONDS)
    )
