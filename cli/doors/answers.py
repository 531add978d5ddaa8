"""Answers to questions: the model is asked outside the database, and each sentence is checked."""

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgblend.cli.answers.ask import REPLY, AnswerError, UnreachableGatewayError
from pgblend.cli.base.errors import ModelUnavailableError
from pgblend.cli.doors.body import search_request
from pgblend.cli.doors.door import Caller, Door
from pgblend.cli.doors.problems import Problem
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
