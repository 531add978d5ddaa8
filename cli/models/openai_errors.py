"""Errors as OpenAI's API shapes them, so that every OpenAI client understands them."""

from typing import Any

from starlette.responses import JSONResponse

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    424: "configuration_error",
    429: "rate_limit_error",
}


class GatewayError(Exception):
    """A refusal or failure with an HTTP status and a code that a caller can branch on."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        retry_after: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.param = param
        self.retry_after = retry_after

    def fields(self) -> dict[str, Any]:
        """Return what it is made of, to make it anew elsewhere."""
        names = ("status", "code", "message", "param", "retry_after")
        return {name: getattr(self, name) for name in names}

    @property
    def type(self) -> str:
        """OpenAI's class of the error."""
        other = "api_error" if self.status >= 500 else "invalid_request_error"
        return _TYPES.get(self.status, other)

    def body(self) -> dict[str, Any]:
        """Return the error as OpenAI's API writes it."""
        error = {
            "message": self.message,
            "type": self.type,
            "param": self.param,
            "code": self.code,
        }
        return {"error": error}

    def response(self) -> JSONResponse:
        """Return the answer that tells a client about this error."""
        headers = {"WWW-Authenticate": "Bearer"} if self.code == "invalid_token" else {}
        if self.retry_after:
            headers["Retry-After"] = self.retry_after
        return JSONResponse(self.body(), status_code=self.status, headers=headers)


def bad_answer(message: str) -> GatewayError:
    """Return the error for an answer of a model that cannot be used."""
    return GatewayError(502, "provider_bad_response", message, param="model")
