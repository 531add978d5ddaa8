"""`ask` in the shape of OpenAI's chat completions, so that any chat client is a client.

Only sentences that passages bear out are ever sent, and none is taken back.
"""

import asyncio
import json
import re
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from pgblend.cli.answers.answer_output import place_of_citation, unanswered
from pgblend.cli.base.token_count import count_tokens
from pgblend.cli.doors.answers import Question, answer_events
from pgblend.cli.doors.door import Caller, Door
from pgblend.cli.doors.problems import Problem, retry_after
from pgblend.cli.doors.schemas import DEFAULT_ROWS, MOST_MESSAGES, MOST_SAID
from pgblend.cli.search.asked_models import RowsAsked
from pgblend.cli.search.statements import SearchRequest

# Server-sent events.


def sse(content: dict[str, Any]) -> bytes:
    """Return an event with this content."""
    return b"data: " + json.dumps(content, ensure_ascii=False).encode() + b"\n\n"


Answer = dict[str, Any]
_PREFIX = "pgblend"
ABSTENTION = "No answer: the passages that were found do not bear one out."
_COLLECTIONS = RowsAsked("SELECT name FROM blend.collections ORDER BY name", {})
_UNDEFINED_OBJECT = "42704"  # what a search says of a collection that is not there, or hidden
_NUMBER = re.compile(r"\[(\d{1,4})\]")


async def models(door: Door, caller: Caller) -> Answer:
    """Return the collections that the caller may read as models, and all of them as one."""
    (rows,) = await door.run(caller, _COLLECTIONS)
    names = [_PREFIX, *(f"{_PREFIX}/{row['name']}" for row in rows)]
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "pgblend"} for name in names]
    return {"object": "list", "data": data}


async def model(door: Door, caller: Caller, name: str) -> Answer:
    """Return one of these models; a Problem where there is none of the name."""
    listed = (await models(door, caller))["data"]
    found: Answer | None = next((one for one in listed if one["id"] == name), None)
    if found is None:
        raise _no_model(name)
    return found


def question_of(given: Answer) -> Question:
    """Return the question of the last message; a Problem where there is none, or no such model.

    What was said before it is the search's history.
    """
    said = [(m["role"], _text(m.get("content")).strip()) for m in given["messages"]]
    places = [place for place, (role, _) in enumerate(said) if role == "user"]
    text = said[places[-1]][1] if places else ""
    if not text:
        detail = "messages: expected a last message of role user with a text"
        raise Problem(400, "invalid-request", detail)
    prefix, slash, collection = given["model"].partition("/")
    if prefix != _PREFIX or bool(slash) != bool(collection):
        raise _no_model(given["model"])
    most = given.get("max_completion_tokens") or given.get("max_tokens")
    options: Answer = {} if most is None else {"answer_tokens": most}
    if history := _history(said[: places[-1]]):
        options["history"] = history
    collections = [collection] if collection else None
    return Question(SearchRequest(text, DEFAULT_ROWS, collections, None, options), None, True)


def _history(said: list[tuple[str, str]]) -> list[dict[str, str]]:
    """Return the newest messages of people and models, as long as a search takes them."""
    spoken = [(role, text) for role, text in said if role in ("user", "assistant") and text]
    return [{"role": role, "content": text[:MOST_SAID]} for role, text in spoken[-MOST_MESSAGES:]]


async def complete(door: Door, caller: Caller, given: Answer, base_url: str) -> Answer:
    """Return the whole answer as a chat completion."""
    said, document = [], {}
    async for event in _events(door, caller, given):
        if isinstance(event, str):
            said.append(event)
        else:
            document = event
    _check_asked(document)
    text = "".join(said) or ABSTENTION
    message = {
        "role": "assistant",
        "content": text + _sources(document),
        "refusal": None,
        "annotations": _annotations(text, document, base_url),
    }
    choice = {"index": 0, "message": message, "finish_reason": _reason(document), "logprobs": None}
    return {
        **_frame("chat.completion", given["model"]),
        "choices": [choice],
        "usage": await _usage(text, document),
        "pgblend": _notes(document, caller),
    }


async def stream(
    door: Door, caller: Caller, given: Answer, base_url: str
) -> AsyncGenerator[bytes, None]:
    """Yield the answer as server-sent events: what fails before the first of them raises."""
    frame = _frame("chat.completion.chunk", given["model"])
    role = {"role": "assistant"}
    text = ""
    async for event in _events(door, caller, given):
        if isinstance(event, str):
            yield sse(frame | _choice({**role, "content": event}))
            text, role = text + event, {}
            continue
        _check_asked(event)
        if not text:
            yield sse(frame | _choice({**role, "content": ABSTENTION}))
            text = ABSTENTION
        elif sources := _sources(event):
            yield sse(frame | _choice({"content": sources}))
        last = _choice({"annotations": _annotations(text, event, base_url)}, _reason(event))
        yield sse(frame | last | {"pgblend": _notes(event, caller)})
        if (given.get("stream_options") or {}).get("include_usage"):
            yield sse(frame | {"choices": [], "usage": await _usage(text, event)})
    yield b"data: [DONE]\n\n"


def error_event(problem: Problem) -> bytes:
    """Return the event that tells of a failure after the first sentence."""
    return sse(problem.openai_body())


async def _events(door: Door, caller: Caller, given: Answer) -> AsyncIterator[str | Answer]:
    """Yield an answer's events; a collection that the caller cannot see is no model."""
    try:
        async for event in answer_events(door, caller, question_of(given)):
            yield event
    except Problem as problem:
        if problem.sqlstate == _UNDEFINED_OBJECT:
            raise _no_model(given["model"]) from problem
        raise


def _no_model(name: str) -> Problem:
    detail = f"there is no model {name[:80]!r} that the token's role may read"
    return Problem(404, "model-not-found", detail, hint="GET /v1/models lists them")


def _text(content: Any) -> str:
    """Return the text of a message, whose content may be a list of parts."""
    if isinstance(content, str):
        return content
    parts = content or []
    return "\n".join(str(p.get("text") or "") for p in parts if p.get("type") == "text")


def _check_asked(document: Answer) -> None:
    """Raise a Problem where passages were found, and no model answered from them."""
    failed = [note for note in document["degraded"] if note.startswith("answer: ")]
    if document["checks"] is None and failed:
        hint = "pgblend doctor checks the gateway and its models"
        raise Problem(503, "model-unavailable", failed[0], hint=hint, headers=retry_after("1"))


def _cited(document: Answer) -> list[Answer]:
    return [citation for citation in document["citations"] if citation["isCited"]]


def _sources(document: Answer) -> str:
    """Return what stands below the answer: each cited passage by its number, title and place."""
    lines = [
        f"[{c['citation']}] {c['title'] or c['source_key']} ({place_of_citation(c)})"
        for c in _cited(document)
    ]
    missing = "".join(f"\n\nNo evidence was found for: {one}" for one in unanswered(document))
    return missing + ("\n\n" + "\n".join(lines) if lines else "")


def _annotations(text: str, document: Answer, base_url: str) -> list[Answer]:
    """Return a citation of OpenAI's kind for each number in the text."""
    cited = {citation["citation"]: citation for citation in _cited(document)}
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": match.start(),
                "end_index": match.end(),
                "title": cited[number]["title"] or cited[number]["source_key"],
                "url": cited[number]["uri"] or _own_url(cited[number], base_url),
            },
        }
        for match in _NUMBER.finditer(text)
        if (number := int(match[1])) in cited
    ]


def _own_url(citation: Answer, base_url: str) -> str:
    """Return where this server shows the passage."""
    start, end = citation["startLine"], citation["endLine"]
    lines = "" if start is None else f"?lines={start}-{end or start}"
    return f"{base_url}v1/documents/{citation['document_id']}{lines}"


def _reason(document: Answer) -> str:
    return "length" if document["meta"]["answerCut"] else "stop"


def _notes(document: Answer, caller: Caller) -> Answer:
    """Return what OpenAI's API has no field for."""
    return {
        "abstained": document["answer"] is None,
        "citations": document["citations"],
        "questions": document.get("questions", []),
        "degraded": document["degraded"],
        "warnings": caller.warnings,
    }


async def _usage(text: str, document: Answer) -> dict[str, int]:
    read = document["meta"]["tokens"]
    said = await asyncio.to_thread(count_tokens, text)
    return {"prompt_tokens": read, "completion_tokens": said, "total_tokens": read + said}


def _frame(kind: str, model: str) -> Answer:
    name = f"chatcmpl-{uuid.uuid4().hex}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": model}


def _choice(delta: Answer, reason: str | None = None) -> Answer:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
