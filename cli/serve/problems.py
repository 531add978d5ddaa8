"""Errors as RFC 9457's problem details: what is wrong, and what to do about it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from pgblend.cli.gateway.errors import GatewayError

MEDIA_TYPE = "application/problem+json"
# Their clients read errors as OpenAI's API writes them.
OPENAI_PATHS = ("/v1/chat/completions", "/v1/models")
_PREFIX = "urn:pgblend:problem:"


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
        retry_after: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.hint = hint
        self.sqlstate = sqlstate
        self.retry_after = retry_after
        self.headers = headers or {}

    @classmethod
    def of(cls, error: GatewayError) -> "Problem":
        """Return what the gateway's modules refuse as a problem."""
        code = error.code.replace("_", "-")
        return cls(error.status, code, error.message, retry_after=error.retry_after)

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
        if self.retry_after:
            headers["Retry-After"] = self.retry_after
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
