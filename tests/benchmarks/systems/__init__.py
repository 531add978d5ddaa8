"""The systems that are compared: each loads a corpus and answers a question with ten keys.

Every one that fuses takes 100 candidates from either side, so that none wins by looking at less.
"""

from typing import Protocol

import psycopg
from corpora import Corpus, Question

DEPTH = 100
ROWS = 10


class System(Protocol):
    """One system with one corpus."""

    name: str
    connection: psycopg.Connection | None  # its session, where it is in this run's server

    def load(self, corpus: Corpus) -> float:
        """Store and index the corpus; return the seconds that it took."""

    def search(self, question: Question) -> list[str]:
        """Return the keys of the best documents, best first."""

    def bytes_stored(self) -> int | None:
        """Return what it takes on disk with its indexes; None where it is in memory."""

    def close(self) -> None:
        """End it; what it stored is thrown away with the run."""
