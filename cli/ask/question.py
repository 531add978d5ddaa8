"""One question: its passages from the database, its answer streamed or by the database."""

import json
from collections.abc import Callable
from typing import Any, LiteralString

import click
import psycopg

from pgblend.cli.ask.stream import AnswerError, UnreachableGatewayError, stream_answer
from pgblend.cli.database import Connection, fetch_rows, fetch_value
from pgblend.cli.errors import UserError
from pgblend.cli.search_statements import PASSAGES
from pgblend.plpy.answers.answer import ask_document

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
