"""Sentences of an answer as it grows: each is told once nothing that follows can change it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pgblend.plpy.answers.answer import checked_sentence, cited_sentence
from pgblend.plpy.answers.quotations import CITATION, answer_sentences, is_abstention

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
