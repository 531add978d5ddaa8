"""One question: its passages, its answer by the database or streamed, and how these look."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import click
import httpx
import psycopg

from pgblend.cli.base import output
from pgblend.cli.base.database import Connection, fetch_rows, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.http_client import answer_json, gateway_client
from pgblend.cli.base.output import trusted
from pgblend.cli.operate.account import token_for
from pgblend.cli.search.statements import PASSAGES
from pgblend.plpy.answers.answer import ask_document
from pgblend.plpy.answers.render import passage_label
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


def echo_answer(document: dict[str, Any], output_format: str, answer: bool | None) -> None:
    """Print the citations and then the answer, for people or as Markdown.

    `answer` is whether one was asked for: None by default, where a model is set.
    """
    if document["meta"]["abstained"] and not document["citations"]:
        click.echo("pgblend: no answer: nothing found has the relevance of abstain_below", err=True)
        return
    if not document["citations"]:
        click.echo("pgblend: no results", err=True)
        return
    if output_format == "md":
        click.echo(_markdown(document))
    else:
        _echo_terminal(document)
    for question in unanswered(document):
        click.echo(f"pgblend: no evidence for: {output.one_line(question)}", err=True)
    for sentence in left_out(document):
        text = output.one_line(sentence["text"])
        click.echo(f"pgblend: left out ({sentence['reason']}): {text}", err=True)
    for line in verdict(document, answer).splitlines():
        click.echo(f"pgblend: {line}", err=True)


def left_out(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the sentences of an answer that no passage bears out."""
    checks = document["checks"] or {"sentences": []}
    return [sentence for sentence in checks["sentences"] if not sentence["kept"]]


def unanswered(document: dict[str, Any]) -> list[str]:
    """Return the parts of a question that nothing bears out."""
    asked = document.get("questions", [])
    return [one["question"] for one in asked if not one["hasEvidence"]]


def verdict(document: dict[str, Any], answer: bool | None) -> str:
    """Say in a line what became of the answer; each problem is a line of its own."""
    checks = document["checks"]
    if checks is None:
        return f"citations only: {_why_no_answer(document['degraded'], answer)}"
    total = checks["kept"] + checks["dropped"]
    if document["meta"]["abstained"]:
        dropped = f", {output.counted(total, 'sentence')} had no support" if total else ""
        return f"no answer: these passages bear none out{dropped}"
    cut = "\nthe answer was cut at its limit of tokens" if document["meta"]["answerCut"] else ""
    said = f"{output.counted(total, 'sentence')} {'is' if total == 1 else 'are'} borne out"
    found = f"{checks['quotations_found']} of {output.counted(checks['quotations'], 'quotation')}"
    return f"{checks['kept']} of {said}, {found} found word for word{cut}"


def _why_no_answer(degraded: list[str], answer: bool | None) -> str:
    if answer is False:
        return "no answer was asked for"
    problems = [told.removeprefix("answer: ") for told in degraded if told.startswith("answer: ")]
    if not problems:
        return "no answer model is set (pgblend models set answer MODEL)"
    return "\n".join(map(output.one_line, problems))


@contextmanager
def unchecked_text() -> Iterator[Callable[[str], None]]:
    """Show a text on the terminal as it grows, marked as unchecked, and take it away at the end."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=trusted(err=False), highlight=False, markup=False, emoji=False)
    with Live(console=console, transient=True, refresh_per_second=12) as live:

        def show(text: str) -> None:
            shown = Text("not checked yet\n", style="bold yellow")
            shown.append(output.printable(text), style="not bold dim")
            live.update(shown)

        yield show


def place_of_citation(citation: dict[str, Any]) -> str:
    """Name where a citation stands: its URI or source key, lines and pages."""
    lines = (citation["startLine"], citation["endLine"])
    spans = [] if lines[0] is None else [lines]
    return output.one_line(passage_label(citation | {"spans": spans}))


def _echo_terminal(document: dict[str, Any]) -> None:
    from rich.console import Group
    from rich.text import Text

    lines = []
    for citation in document["citations"]:
        line = Text(f"[{citation['citation']}] ", style="bold")
        line.append(output.one_line(citation["title"] or citation["source_key"]))
        line.append(f"\n    {place_of_citation(citation)}", style="not bold cyan")
        if citation["quote"]:
            style = "not bold" if citation["isChecked"] else "not bold dim"
            line.append(f"\n    “{output.one_line(citation['quote'])}”", style=style)
        lines.append(line)
    if document["answer"] is not None:
        lines += [Text(), Text(output.printable(document["answer"]))]
    output.echo_renderable(Group(*lines))


def _markdown(document: dict[str, Any]) -> str:
    escape = output.escape_markdown
    paragraphs = []
    for citation in document["citations"]:
        title = escape(output.one_line(citation["title"] or citation["source_key"]))
        quote = escape(output.one_line(citation["quote"] or ""))
        place = escape(place_of_citation(citation))
        paragraphs.append(f"{citation['citation']}. **{title}** ({place})\n\n   > {quote}")
    if document["answer"] is not None:
        paragraphs.append(escape(output.printable(document["answer"])))
    return "\n\n".join(paragraphs)
