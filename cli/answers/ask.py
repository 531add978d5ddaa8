"""One question: its passages from the database, its answer streamed or by the database."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any, LiteralString

import click
import httpx
import psycopg

from pgblend.cli.base.database import Connection, fetch_rows, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.http_client import answer_json, gateway_client
from pgblend.cli.operate.account import token_for
from pgblend.cli.search.statements import PASSAGES
from pgblend.plpy.answers.answer import ask_document
from pgblend.plpy.models.outcome import one_line, storable

# A chat model's answer, piece by piece, from the model gateway.

LONGEST_ANSWER = 1_000_000  # characters: a model that never stops is stopped


class UnreachableGatewayError(Exception):
    """Seen from here nothing listens at the gateway's address, or it refuses who asks."""


class AnswerError(Exception):
    """The gateway gave no whole answer; the message says why."""


def stream_answer(
    url: str,
    body: dict[str, Any],
    timeout_s: float,
    show: Callable[[str], None],
) -> dict[str, Any]:
    """Return {model, text, finish_reason}; `show` gets the whole text so far with each piece.

    `url` is http://host:port or unix:/path, `body` a request of /v1/chat/completions. Ends within
    `timeout_s` seconds, whether or not pieces still come.
    """
    deadline = time.monotonic() + timeout_s
    text, reason = "", None
    try:
        with (
            _client(url, timeout_s) as client,
            client.stream("POST", "/v1/chat/completions", json=body | {"stream": True}) as response,
        ):
            if response.status_code != httpx.codes.OK:
                response.read()
                check_is_open(response)
                raise AnswerError(refusal(response))
            for event in _events(response.iter_lines()):
                if time.monotonic() > deadline or len(text) > LONGEST_ANSWER:
                    raise AnswerError(f"the answer was not complete within {timeout_s:g} seconds")
                piece, ended = piece_of(event)
                reason = ended or reason
                if piece:
                    text += piece
                    show(text)
    except (httpx.ConnectError, httpx.InvalidURL) as error:
        raise UnreachableGatewayError(str(error)) from None
    except httpx.TimeoutException:
        raise AnswerError(f"no answer within {timeout_s:g} seconds") from None
    except httpx.HTTPError as error:
        raise AnswerError(f"the gateway's answer broke off ({error})") from None
    if reason is None:
        raise AnswerError("the gateway's answer broke off")
    if not text.strip():
        raise AnswerError("the model said nothing")
    return {"model": body["model"], "text": text, "finish_reason": reason}


def _client(url: str, timeout_s: float) -> httpx.Client:
    timeout = httpx.Timeout(timeout_s, connect=min(5, timeout_s))
    return gateway_client(url, token_for(url), timeout)


def event_of(line: str) -> dict[str, Any] | None:
    """Return the event in a line of a stream: {} for a line without one, None for the end."""
    if not line.startswith("data:"):
        return {}
    data = line.removeprefix("data:").strip()
    if data == "[DONE]":
        return None
    try:
        event = storable(json.loads(data))
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise AnswerError("the gateway's answer is no chat completion")
    return event


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Yield the server-sent events up to [DONE]."""
    for line in lines:
        event = event_of(line)
        if event is None:
            return
        if event:
            yield event


def piece_of(event: dict[str, Any]) -> tuple[str, str | None]:
    """Return the text that an event adds, and why the answer ends where it does."""
    if "error" in event:
        raise AnswerError(_message(event))
    try:
        choices = event["choices"]
        text = choices[0]["delta"].get("content") or "" if choices else ""
        reason = choices[0].get("finish_reason") if choices else None
        return str(text), reason
    except (KeyError, TypeError, AttributeError, IndexError):
        raise AnswerError("the gateway's answer is no chat completion") from None


def check_is_open(response: httpx.Response) -> None:
    """Raise UnreachableGatewayError where the gateway refuses whoever asks from here.

    That it has no key of the provider is an answer, and the same to all who ask.
    """
    if response.status_code in (401, 403) and "provider_key_" not in response.text:
        raise UnreachableGatewayError(refusal(response))


def refusal(response: httpx.Response) -> str:
    """Say why the gateway refused."""
    try:
        return _message(answer_json(response))
    except ValueError:
        return f"the gateway answered with status {response.status_code}"


def _message(body: Any) -> str:
    try:
        return one_line(str(body["error"]["message"]))
    except (KeyError, TypeError):
        return "the gateway's answer is an error without a message"


_ASK = """
    SELECT blend.ask(
        query => %(query)s::text, result_limit => %(limit)s::integer,
        collections => %(collections)s::text[], filter => %(filter)s::jsonb,
        profile => %(profile)s::text, options => %(options)s::jsonb, answer => %(answer)s::boolean)
"""
REPLY: LiteralString = (
    "SELECT pgblend._answer_reply(%(found)s::jsonb, %(settings)s::jsonb) AS reply"
)


def ask(connection: Connection, parameters: dict[str, Any]) -> Any:
    """Return the answer as the database gives it."""
    return fetch_value(connection, _ASK, parameters)


def ask_streamed(
    connection: Connection, parameters: dict[str, Any], show: Callable[[str], None]
) -> dict[str, Any]:
    """Return the same, with the model's answer shown as it comes, before it is checked.

    What fails is named in `degraded`, as by the database, and is an error with the option strict.
    Where the gateway cannot be reached from here, the database asks it.
    """
    (row,) = fetch_rows(connection, PASSAGES, parameters)
    found, settings = row["found"], row["settings"]
    wanted = parameters["answer"]
    if wanted is None:
        wanted = row["model"] is not None
    reply = None
    if wanted and found["parts"]:
        try:
            if row["model"] is None or row["url"] is None:
                raise AnswerError("no model is set for it, or no gateway")
            body = {
                "model": row["model"],
                "messages": found["messages"],
                "max_tokens": settings["answer_tokens"],
                "temperature": 0,
                "user": "pgblend:answer",
            }
            timeout_s = settings["timeouts_ms"]["answer"] / 1000
            reply = stream_answer(row["url"], body, timeout_s, show)
        except UnreachableGatewayError:
            values = {"found": json.dumps(found), "settings": json.dumps(settings)}
            try:
                with connection.transaction():
                    reply = fetch_value(connection, REPLY, values)
            except psycopg.Error as error:
                if error.sqlstate != "PB008":
                    raise
                problem = error.diag.message_primary or str(error)
                _degrade(found, problem, strict=settings["strict"])
        except AnswerError as error:
            _degrade(found, str(error), strict=settings["strict"])
    return ask_document(found, reply)


def _degrade(found: dict[str, Any], problem: str, *, strict: bool) -> None:
    """Name what failed; with the option strict it is an error."""
    if strict:
        raise UserError(f"answer: {problem}", hint="leave out the option strict to go on without")
    found["degraded"].append(f"answer: {problem}")
    click.echo(f"pgblend: warning: searching without the answer stage: {problem}", err=True)
