"""What the lexical arm gives, and the time that it has; without numpy, which a server may lack."""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pgblend.plpy.base.ports import CandidateList
from pgblend.plpy.base.session import ProgramError
from pgblend.plpy.lexical.configuration import Meaning


class WordList(NamedTuple):
    """Candidates by words.

    `every_word`: passages have every word of the query, names aside; not looked at for documents
    and several languages. `known` is the share of its words, by idf, that passages have, of several
    languages the largest. `may_be_named` is false where no document is called as the query asks.
    `corrections` of each row say in JSON what stands for which lexeme, `synonyms` what words of the
    query stand for. `asked` is how many words it asks for. Where no other list is to be fused with
    this one, every_word, known and asked are not looked at.
    """

    found: CandidateList
    every_word: bool = False
    may_be_named: bool = True
    corrections: Sequence[str | None] = ()
    meanings: Mapping[str, Meaning] = {}
    synonyms: Sequence[Mapping[str, Sequence[str]]] = ()
    known: float = 0.0
    asked: int = 0


class Deadline(NamedTuple):
    """When the lexical arm has to be done, in seconds of the monotonic clock."""

    at: float

    def check(self) -> None:
        """End with PB009 once the time is over.

        To be called between steps: a statement_timeout that is set inside a function has no effect.
        """
        if time.monotonic() > self.at:
            raise ProgramError(
                "the time limit of the lexical arm is over",
                "Raise timeouts_ms, key lexical.",
                "PB009",
            )

    def left_ms(self) -> float:
        """Return how many milliseconds are left."""
        return (self.at - time.monotonic()) * 1000


def arm_deadline(timeout_ms: float, whole: float) -> Deadline:
    """Start the clock of an arm whose session is ready; PB009 where the whole search is over.

    `whole` is when that has to be done.
    """
    now = time.monotonic()
    if now > whole:
        raise ProgramError(
            "the time limit of the whole search is over", "Raise timeouts_ms, key total.", "PB009"
        )
    return Deadline(min(now + timeout_ms / 1000, whole))
