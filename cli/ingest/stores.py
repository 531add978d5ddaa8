"""Where a run's documents go: into this database, or each to its shard."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import Self

from pgblend.cli.database import Connection, connect, fetch_rows
from pgblend.cli.errors import UserError
from pgblend.cli.ingest import store as one_node
from pgblend.cli.ingest.spool import Batch
from pgblend.cli.ingest.store import MOVED, Known, Outcome
from pgblend.cli.shards.places import Place, find_places

_SHARDS = """
    SELECT q.place - 1 AS place, b.shard
    FROM unnest(%(keys)s::text[]) WITH ORDINALITY AS q (k, place)
    INNER JOIN pgblend_data.shard_bucket AS b
        ON b.bucket = pgblend._bucket(%(collection_id)s::bigint, q.k)
    ORDER BY q.place
"""
_MOVE_SECONDS = 0.2
_LONGEST_MOVE_SECONDS = 600.0

# A database, and the places in a list of what is its own.
Part = tuple[Connection, list[int]]


class Stores:
    """Connections of one thread: to the database of the run, and where that has shards, to them.

    Each is opened when it is first asked for. Collections, spaces and settings are those of
    `front`.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    @property
    def is_open(self) -> bool:
        """Whether there is a session already."""
        return "front" in vars(self)

    @cached_property
    def front(self) -> Connection:
        """The connection to the database of the run."""
        return self._open.enter_context(connect(self._url, application_name="pgblend ingest"))

    @cached_property
    def _shards(self) -> dict[int, tuple[Place, Connection]]:
        """The shards that there were when they were last looked for, in their order."""
        return self._connected({})

    def all(self) -> dict[int, Connection]:
        """Return connections to the databases that have documents now, by the shard's number."""
        if self._shards:
            self._read_places()
        return {number: shard for number, (_, shard) in self._shards.items()} or {0: self.front}

    def parts(self, collection_id: int | None, keys: Sequence[str]) -> list[Part]:
        """Return where documents of these source keys are; nothing is of a collection to come."""
        if not self._shards or collection_id is None:
            return [(next(iter(self.all().values())), [*range(len(keys))])]
        found: dict[int, list[int]] = {}
        given = {"keys": list(keys), "collection_id": collection_id}
        for row in fetch_rows(self.front, _SHARDS, given):
            found.setdefault(row["shard"], []).append(row["place"])
        if found.keys() - self._shards.keys():
            self._read_places()
        return [(self._shards[number][1], places) for number, places in found.items()]

    def look_up(self, collection_id: int | None, sources: Sequence[tuple[str, str]]) -> list[Known]:
        """Return what is known of each (source key, label), and remember whose the keys are now."""
        found: dict[int, Known] = {}
        for database, places in self.parts(collection_id, [key for key, _ in sources]):
            own = [sources[place] for place in places]
            found.update(zip(places, one_node.look_up(database, collection_id, own), strict=True))
        return [found[place] for place in range(len(sources))]

    def stored_messages(
        self, collection_id: int | None, keys: Sequence[str]
    ) -> dict[str, tuple[str, list[str]]]:
        """Return content hashes and the ids of stored messages of documents, by source key."""
        found: dict[str, tuple[str, list[str]]] = {}
        for database, places in self.parts(collection_id, keys):
            own = [keys[place] for place in places]
            found |= one_node.stored_messages(database, collection_id, own)
        return found

    def stored_places(
        self,
        collection_id: int | None,
        sources: Sequence[tuple[str, datetime]],
        reads_pictures: bool,
    ) -> set[int]:
        """Return the places of the (source key, time) that there is nothing to read of."""
        found: set[int] = set()
        for database, places in self.parts(collection_id, [key for key, _ in sources]):
            own = [sources[place] for place in places]
            stored = one_node.stored_places(database, collection_id, own, reads_pictures)
            found |= {places[place] for place in stored}
        return found

    def stored_uris(self, collection_id: int | None, keys: Sequence[str]) -> dict[str, str]:
        """Return the URIs of documents that there are, by source key."""
        found: dict[str, str] = {}
        for database, places in self.parts(collection_id, keys):
            found |= one_node.stored_uris(database, collection_id, [keys[one] for one in places])
        return found

    def forget(self, keys: Sequence[str]) -> None:
        """Free keys that were looked up and whose documents did not come."""
        for database in self.all().values():
            one_node.forget(database, keys)

    def store(self, collection_id: int | None, collection: str, batch: Batch) -> list[Outcome]:
        """Store a batch, in one transaction for each database (store.py).

        What a shard refuses since it is being moved waits until it is where it goes to. UserError
        where the collection of that name is another one by now: its documents belong elsewhere.
        """
        if not self._shards:
            return one_node.store(self.front, collection, batch)
        outcomes: list[Outcome] = []
        waiting = [*batch.chunks]
        for _ in self._turns():
            moving: list[int] = []
            for database, parts in self.parts(collection_id, [batch.keys[one] for one in waiting]):
                own = [waiting[part] for part in parts]
                try:
                    outcomes += one_node.store(database, collection, batch, own, collection_id)
                except Exception as error:
                    if getattr(error, "sqlstate", None) != MOVED:
                        raise
                    moving += own
            waiting = moving
            if not waiting:
                break
        return outcomes

    def _turns(self) -> Iterator[None]:
        """Come again, with pauses, until a move ought to be over."""
        end = time.monotonic() + _LONGEST_MOVE_SECONDS
        while time.monotonic() < end:
            yield
            time.sleep(_MOVE_SECONDS)
        raise UserError(
            "a shard that is being split or moved takes no documents",
            hint="pgblend shards status says which; run the split again, then this",
        )

    def _read_places(self) -> None:
        self._shards = self._connected(self._shards)

    def _connected(
        self, before: dict[int, tuple[Place, Connection]]
    ) -> dict[int, tuple[Place, Connection]]:
        """Connect to the shards that there are now and were not before."""
        found: dict[int, tuple[Place, Connection]] = {}
        for place in find_places(self.front):
            there = before.get(place.number)
            if there is None or there[0] != place:
                there = place, self._open.enter_context(connect(place.url))
            found[place.number] = there
        return found


def sessions(stores: Sequence[Stores], number: int, count: int) -> list[Connection]:
    """Return connections to the database of this number, of so many of the stores."""
    return [one.all()[number] for one in stores[:count]]
