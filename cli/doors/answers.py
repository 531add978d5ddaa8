"""`ask` in the shape of OpenAI's chat completions, so that any chat client is a client.

Only sentences that passages bear out are ever sent, and none is taken back.
"""

import asyncio
import json
import re
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgblend.cli.answers.ask import (
    REPLY,
    AnswerError,
    UnreachableGatewayError,
    place_of_citation,
    unanswered,
)
from pgblend.cli.base.errors import ModelUnavailableError
from pgblend.cli.base.token_count import count_tokens
from pgblend.cli.doors.door import Caller, Door
from pgblend.cli.doors.problems import Problem, retry_after
from pgblend.cli.doors.schemas import DEFAULT_ROWS, MOST_MESSAGES, MOST_SAID, search_request
from pgblend.cli.search.asked_models import ModelCall, RowsAsked
from pgblend.cli.search.statements import PASSAGES, SearchRequest
from pgblend.plpy.answers.answer import ask_document, checked_sentence, cited_sentence
from pgblend.plpy.answers.quotations import CITATION, answer_sentences, is_abstention

# Sentences of an answer as it grows: each is told once nothing that follows can change it.

# What may still become a citation.
_OPEN = re.compile(r"\[\s*(?:\d|$)")


class CheckedSentences:
    """An answer's sentences that its passages bear out, in order, as `check_answer` writes them."""

    def __init__(self, parts: Sequence[Mapping[str, Any]], questions: int = 0) -> None:
        self._texts = {part["citation"]: str(part["text"]) for part in parts}
        self._questions = questions
        self._settled = 0
        self._line: int | None = None  # of the last sentence that was told
        self.text = ""

    @property
    def has_told(self) -> bool:
        """Whether anything was told."""
        return self._line is not None

    def add(self, piece: str) -> Iterator[str]:
        """Take a piece of the model's text; yield what is settled by it."""
        self.text += piece
        stable = _without_open_citation(self.text)
        # The last sentence may go on, or have its citation behind the full stop.
        yield from self._tell(stable, len(self._sentences(stable)) - 1)

    def end(self) -> Iterator[str]:
        """Yield what is left once the text is whole."""
        yield from self._tell(self.text, len(self._sentences(self.text)))

    def _sentences(self, text: str) -> Sequence[Mapping[str, Any]]:
        return [] if is_abstention(text) else answer_sentences(text, self._questions)

    def _tell(self, text: str, settled: int) -> Iterator[str]:
        if settled <= self._settled:
            return
        for found in self._sentences(text)[self._settled : settled]:
            sentence, line = checked_sentence(found, self._texts), found["line"]
            if sentence["kept"]:
                between = "" if self._line is None else " " if line == self._line else "\n"
                yield between + cited_sentence(sentence)
                self._line = line
        self._settled = settled


def _without_open_citation(text: str) -> str:
    """Cut before the first bracket that may become a citation when more is said."""
    closed = CITATION.sub(lambda match: " " * len(match.group()), text)
    found = _OPEN.search(closed)
    return text[: found.start()] if found else text


@dataclass(frozen=True)
class Question:
    """A search, and whether a model is to answer from what it finds; None: where one is set."""

    request: SearchRequest
    profile: str | None
    answer: bool | None


def ask_parameters(given: dict[str, Any]) -> Question:
    """Return the question that a body of /v1/ask puts."""
    return Question(search_request(given), given.get("profile"), given.get("answer"))


async def last_event(door: Door, caller: Caller, question: Question) -> dict[str, Any]:
    """Return the whole answer."""
    async for event in answer_events(door, caller, question):
        if isinstance(event, dict):
            return event
    raise AssertionError("an answer ends with its document")


async def answer_events(
    door: Door, caller: Caller, question: Question
) -> AsyncIterator[str | dict[str, Any]]:
    """Yield pieces of the answer that are checked and stay, then blend.ask's document.

    The pieces joined are the document's `answer`, or nothing where that is None.
    """
    asked = await door.ask_models(caller, question.request, question.profile)
    parameters = asked.request.parameters() | {"profile": question.profile}
    ((row,),) = await door.run(caller, RowsAsked(PASSAGES, parameters))
    found, settings = row["found"], row["settings"]
    found["degraded"] = [*asked.degraded, *found["degraded"]]
    wanted = row["model"] is not None if question.answer is None else question.answer
    if not (wanted and found["parts"]):
        yield ask_document(found, None)
        return
    checked = CheckedSentences(found["parts"], len(found.get("questions") or ()))
    reason: str | None = None
    has_failed = False
    try:
        async for text, ended in _said(door, caller, row):
            reason = ended or reason
            for piece in checked.add(text):
                yield piece
        if not checked.text.strip():
            raise AnswerError("the model said nothing")
    except AnswerError as error:
        _degrade(caller, found, str(error), strict=settings["strict"])
        reason, has_failed = "length", True  # what was told until then is not taken back
    reply = {"model": row["model"], "text": checked.text, "finish_reason": reason}
    for piece in checked.end():
        yield piece
    yield ask_document(found, reply if checked.has_told or not has_failed else None)


async def _said(
    door: Door, caller: Caller, row: dict[str, Any]
) -> AsyncIterator[tuple[str, str | None]]:
    """Yield what the model says; where the gateway is closed to this process, the database asks."""
    try:
        async for piece in door.gateway.stream(_call(row)):
            yield piece
        return
    except UnreachableGatewayError:
        pass
    values: dict[str, object] = {name: json.dumps(row[name]) for name in ("found", "settings")}
    try:
        ((answered,),) = await door.run(caller, RowsAsked(REPLY, values))
    except Problem as problem:
        if problem.code != "model-unavailable":
            raise
        raise AnswerError(problem.detail) from None
    yield answered["reply"]["text"], answered["reply"]["finish_reason"]


def _call(row: dict[str, Any]) -> ModelCall:
    """Return the call of the answer model."""
    if row["model"] is None or row["url"] is None:
        raise AnswerError("no model is set for it, or no gateway")
    found, settings = row["found"], row["settings"]
    body = {
        "model": row["model"],
        "messages": found["messages"],
        "max_tokens": settings["answer_tokens"],
        "temperature": 0,
        "user": "pgblend:answer",
    }
    timeout_ms = settings["timeouts_ms"]["answer"]
    return ModelCall(row["url"], "/v1/chat/completions", body, timeout_ms)


def _degrade(caller: Caller, found: dict[str, Any], problem: str, *, strict: bool) -> None:
    """Name what failed; with the option strict it is an error."""
    if strict:
        hint = "leave out the option strict to go on without"
        raise ModelUnavailableError(f"answer: {problem}", hint=hint)
    found["degraded"].append(f"answer: {problem}")
    caller.warnings.append(f"searching without the answer stage: {problem}")


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
