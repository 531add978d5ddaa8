"""Who may call, and how much: token, names of a loopback gateway, private files, rates."""

import hmac
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dotenv
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from pgblend.cli.base.errors import UserError
from pgblend.cli.models.gateway_options import CallLimits
from pgblend.cli.models.openai_errors import GatewayError

_LOOPBACK_NAMES = {"127.0.0.1", "localhost", "[::1]"}
# Of one address: as many calls at a time as it has connections.
_GUESSES = CallLimits(concurrency=1_000_000, rate=10, burst=50)
_LOOKS = CallLimits(concurrency=1_000_000, rate=50, burst=200)


_MOST_CALLERS = 10_000  # that are kept in mind; idle ones are forgotten


@dataclass
class _Use:
    running: int
    left: float  # calls, of the burst
    at: float


class Limiter:
    """Counts the calls of each; a bucket that refills at the rate, from 0 to the burst."""

    def __init__(
        self,
        limits: CallLimits,
        clock: Callable[[], float] = time.monotonic,
        who: str = "the token",
    ) -> None:
        self._limits = limits
        self._who = who
        self._clock = clock
        self._uses: dict[str, _Use] = {}

    @contextmanager
    def call(self, token: str) -> Iterator[None]:
        """Count a call while it runs; a GatewayError with status 429 where it is one too many."""
        use = self._use(token)
        if use.running >= self._limits.concurrency:
            detail = f"{self._who} has {use.running} calls running, which is its limit"
            raise GatewayError(429, "too_many_calls", detail, retry_after="1")
        if use.left < 1:
            wait = (1 - use.left) / self._limits.rate
            detail = f"{self._who} may call {self._limits.rate:g} times a second"
            raise GatewayError(429, "rate_limit", detail, retry_after=str(max(1, round(wait))))
        use.left -= 1
        use.running += 1
        try:
            yield
        finally:
            use.running -= 1

    def _use(self, token: str) -> _Use:
        now = self._clock()
        if token not in self._uses:
            self._forget(now)
        use = self._uses.setdefault(token, _Use(0, self._limits.burst, now))
        use.left, use.at = self._refilled(use, now), now
        return use

    def _refilled(self, use: _Use, now: float) -> float:
        return min(self._limits.burst, use.left + (now - use.at) * self._limits.rate)

    def _forget(self, now: float) -> None:
        """Forget tokens that are as good as new."""
        if len(self._uses) >= _MOST_CALLERS:
            self._uses = {
                token: use
                for token, use in self._uses.items()
                if use.running or self._refilled(use, now) < self._limits.burst
            }


class AccessMiddleware:
    """Refuses calls without the token; without one, calls that a web page may have sent.

    A page in a browser on this machine can reach loopback. It may use a name of its own (DNS
    rebinding), which the Host header shows. Or it may send a form, whose content type is never
    JSON. An address guesses tokens, and looks whether the gateway is there, at a rate. Who has the
    token is not held up by other callers of its address.
    """

    def __init__(self, app: ASGIApp, token: str | None, loopback: bool) -> None:
        self._app = app
        self._expected = None if token is None else f"Bearer {token}".encode()
        self._check_host = loopback and token is None
        self._guesses = Limiter(_GUESSES, who="an address without the token")
        self._looks = Limiter(_LOOKS, who="an address")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on, or answer with what is wrong."""
        error = self._refusal(Headers(scope=scope), scope) if scope["type"] == "http" else None
        await (error.response() if error else self._app)(scope, receive, send)

    def _refusal(self, headers: Headers, scope: Scope) -> GatewayError | None:
        if self._expected is not None:
            given = headers.get("authorization", "").encode()
            if not hmac.compare_digest(given, self._expected):
                message = "send the gateway's token: Authorization: Bearer …"
                refusal = GatewayError(401, "invalid_token", message)
                return _too_often(self._guesses, scope) or refusal
        if self._check_host and _host(headers) not in _LOOPBACK_NAMES:
            message = "this gateway answers to 127.0.0.1, localhost and [::1] only"
            return GatewayError(403, "host_not_allowed", message)
        if scope["method"] == "POST" and not _is_json(headers):
            message = "send the body as Content-Type: application/json"
            return GatewayError(415, "unsupported_media_type", message)
        if self._expected is None and scope["path"] == "/health":
            return _too_often(self._looks, scope)
        return None


def read_token(path: Path) -> str:
    """Return the token in a private file."""
    token = _read_private_file(path).strip()
    if not token or not token.isascii() or any(character.isspace() for character in token):
        raise UserError(f"{path} holds no token", hint=f"make one: openssl rand -hex 32 > {path}")
    return token


def read_env_file(path: Path) -> dict[str, str]:
    """Return the KEY=VALUE lines of a private file."""
    _read_private_file(path)
    values = dotenv.dotenv_values(path, interpolate=False)
    unset = [name for name, value in values.items() if value is None]
    if unset:
        raise UserError(f"a line of {path} is not KEY=VALUE", hint="quote values with spaces")
    return {name: value for name, value in values.items() if value is not None}


def _read_private_file(path: Path) -> str:
    try:
        mode = path.stat().st_mode & 0o777
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise UserError(f"cannot read {path}: {reason}") from None
    if mode & 0o077:
        raise UserError(
            f"{path} holds secrets and has mode {mode:04o}, so that others can read it",
            hint=f"chmod 600 {path}",
        )
    return text


def _too_often(limiter: Limiter, scope: Scope) -> GatewayError | None:
    """Count a call of its address, which a socket is too; the refusal where it is one too many."""
    address = str(scope["client"][0]) if scope.get("client") else ""
    try:
        with limiter.call(address):
            return None
    except GatewayError as error:
        return GatewayError(429, "rate_limit", error.message, retry_after="1")


def _host(headers: Headers) -> str:
    host = headers.get("host", "")
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _is_json(headers: Headers) -> bool:
    return headers.get("content-type", "").split(";")[0].strip().lower() == "application/json"
