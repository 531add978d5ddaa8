"""What must be in the database: a plain record of what was committed, by collection and key.

A key has one writer. While it writes, and after a call whose outcome nobody told, the key is in
doubt: what was there before may be found, or what was to come. Everything else is certain.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Key: TypeAlias = tuple[str, str]  # collection and source_key
Chunks: TypeAlias = tuple[str, ...]  # texts; empty where there is no document


@dataclass(frozen=True)
class State:
    """What a document may be, and how often that changed."""

    possible: frozenset[Chunks]
    stamp: int

    @property
    def is_certain(self) -> bool:
        """Whether there is one possibility."""
        return len(self.possible) == 1

    @property
    def chunks(self) -> Chunks:
        """The only possibility."""
        (only,) = self.possible
        return only


NOWHERE = State(frozenset([()]), 0)


class Record:
    """States by key, for threads that write and read it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[Key, State] = {}

    def snapshot(self) -> dict[Key, State]:
        """Return all states as they are now."""
        with self._lock:
            return dict(self._states)

    def state(self, key: Key) -> State:
        """Return what is known of a key."""
        with self._lock:
            return self._states.get(key, NOWHERE)

    def doubt(self, changes: Mapping[Key, Chunks]) -> None:
        """Hold for possible what a call is about to write."""
        with self._lock:
            for key, chunks in changes.items():
                self._set(key, self._states.get(key, NOWHERE).possible | {chunks})

    def settle(self, found: Mapping[Key, Chunks]) -> None:
        """Take what keys are now."""
        with self._lock:
            for key, chunks in found.items():
                self._set(key, frozenset([chunks]))

    def _set(self, key: Key, possible: frozenset[Chunks]) -> None:
        self._states[key] = State(possible, self._states.get(key, NOWHERE).stamp + 1)


def settled(before: Mapping[Key, State], after: Mapping[Key, State], key: Key) -> Chunks | None:
    """Return what a key was all the time between two snapshots; None where that is not certain."""
    first, last = before.get(key, NOWHERE), after.get(key, NOWHERE)
    return first.chunks if first == last and first.is_certain else None
