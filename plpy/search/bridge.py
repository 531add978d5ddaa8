"""A store whose space is still being filled: older vectors answer where newer ones lack.

The query has a vector by the newer model. A matrix (plpy/models/bridge_fit.py) makes of it one for
the older space, whose cosines become scores like the newer ones. Both make one list, in which a
passage with a newer vector stands by that alone. Once no passage searched waits, the older space is
not asked.
"""

import json
from collections.abc import Iterable, Sequence
from math import fsum
from operator import neg
from typing import NamedTuple

from pgblend.plpy.base.ports import (
    CandidateList,
    CosinesRequest,
    Held,
    Space,
    VectorRequest,
    VectorsRequest,
)
from pgblend.plpy.base.session import Database
from pgblend.plpy.search.node import StoreNode
from pgblend.plpy.search.vectors import vector_list

# A query's length changes no cosine. The inner product's operator gives its negative.
_MAPPED = """
    SELECT (
        SELECT array_agg(-(w.weights <#> q.unit) ORDER BY w.place)::vector
        FROM unnest(b.weights) WITH ORDINALITY AS w (weights, place))::text AS vector,
        -(b.shift <#> q.unit) AS shift
    FROM pgblend_data.space_bridge AS b
    CROSS JOIN (SELECT l2_normalize($2::vector) AS unit) AS q
    WHERE b.space = $1"""
_HAVE = "SELECT e.chunk_id FROM pgblend_data.{table} AS e WHERE e.chunk_id = ANY($1)"
_MATRIX = """
    SELECT string_agg(vector_send(w.weights), ''::bytea ORDER BY w.place) AS weights,
        b.shift::text AS shift
    FROM pgblend_data.space_bridge AS b
    CROSS JOIN unnest(b.weights) WITH ORDINALITY AS w (weights, place)
    WHERE b.space = $1 GROUP BY b.space"""


class _Mapped(NamedTuple):
    """A query's vector for the older space: a score is scale · cosine + shift."""

    vector: str
    scale: float
    shift: float

    def score(self, cosine: float) -> float:
        """Return what a cosine of the older space says, as one of the newer."""
        return max(-1.0, min(1.0, self.scale * cosine + self.shift))


class BridgedNode(StoreNode):
    """One node, of whose spaces one may still be filled: `newer`, which takes over from `older`."""

    newer: Space
    older: Space

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self.is_needed = False
        self._known: dict[str, _Mapped] = {}

    def note_spaces(self, spaces: Sequence[Space]) -> None:
        """See whether one of them takes over from another."""
        named = {space.name: space for space in spaces}
        for space in spaces:
            if space.bridged_from in named:
                self.newer, self.older = space, named[space.bridged_from]
                self.is_needed = True

    def hold(self, space: Space, collection_ids: Sequence[int], asks: bool) -> Held:
        """Keep both spaces from being dropped; tell what either has."""
        held = super().hold(space, collection_ids, asks)
        if not self._answers(space.name):
            return held
        self.is_needed = held.is_waiting
        if not self.is_needed:
            return held
        older = super().hold(self.older, collection_ids, asks)
        return Held(
            held.is_there and older.is_there,
            held.has_vectors or older.has_vectors,
            held.is_waiting and older.is_waiting,
        )

    def nearest(self, request: VectorRequest) -> CandidateList:
        """Return the passages nearest to a vector, of both spaces as one list."""
        newer = vector_list(self.db, request)
        if request.vector is None or not self._answers(request.space.name):
            return newer
        mapped = self._mapped(request.vector)
        older = vector_list(self.db, request._replace(space=self.older, vector=mapped.vector))
        have = self._have(self.newer, older.chunk_ids)
        rows = _rows(newer, newer.scores)
        rows += [
            row for row in _rows(older, map(mapped.score, older.scores)) if row[-1] not in have
        ]
        best = zip(*sorted(rows)[: request.depth], strict=True) if rows else [()] * 4
        negated, document_ids, indexes, chunk_ids = map(list, best)
        return CandidateList(chunk_ids, document_ids, indexes, list(map(neg, negated)))

    def spaces(self, chunk_ids: Sequence[int]) -> dict[int, str]:
        """Return the name of the space that each of the passages was compared in."""
        if not self.is_needed:
            return {}
        older, newer = (self._have(space, chunk_ids) for space in (self.older, self.newer))
        return dict.fromkeys(older, self.older.name) | dict.fromkeys(newer, self.newer.name)

    def cosines(self, request: CosinesRequest) -> dict[int, float | None]:
        """Return cosines of the newer model; of passages that lack its vector, what stands for."""
        found = super().cosines(request)
        rest = [one for one in request.chunk_ids if one not in found]
        if not rest or not self._answers(request.space):
            return found
        mapped = self._mapped(request.vector)
        asked = request._replace(space=self.older.name, vector=mapped.vector, chunk_ids=rest)
        older = super().cosines(asked).items()
        return found | {
            one: None if cosine is None else mapped.score(cosine) for one, cosine in older
        }

    def vectors(self, request: VectorsRequest) -> dict[int, str]:
        """Return vectors of the newer model; where one lacks, what the matrix takes for it."""
        found = super().vectors(request)
        rest = [one for one in request.chunk_ids if one not in found]
        if not rest or not self._answers(request.space):
            return found
        older = super().vectors(request._replace(space=self.older.name, chunk_ids=rest))
        return found | self._estimated(older)

    def _answers(self, space: str) -> bool:
        """Tell whether the older space answers for one, where passages searched wait."""
        return self.is_needed and space == self.newer.name

    def _mapped(self, vector: str) -> _Mapped:
        """Return a query's vector for the older space."""
        if vector not in self._known:
            row = self.db.run(_MAPPED, ["text", "vector"], self.newer.name, vector)[0]
            numbers = json.loads(row["vector"])
            length = fsum(number * number for number in numbers) ** 0.5
            self._known[vector] = _Mapped(row["vector"], length, row["shift"])
        return self._known[vector]

    def _have(self, space: Space, chunk_ids: Sequence[int]) -> set[int]:
        """Return those of the passages that have a vector in a space."""
        statement = _HAVE.format(table=space.table_name)
        return {row["chunk_id"] for row in self.db.run(statement, ["bigint[]"], chunk_ids)}

    def _estimated(self, older: dict[int, str]) -> dict[int, str]:
        """Return what the matrix takes for newer vectors, by the older ones; few searches ask."""
        import numpy as np

        row = self.db.run(_MATRIX, ["text"], self.newer.name)[0]
        width = self.older.dimensions
        sent = np.frombuffer(row["weights"], np.uint8).reshape(width, -1)[:, 4:]
        weights = np.ascontiguousarray(sent).view(">f4").astype(np.float64)
        vectors = np.array([json.loads(vector) for vector in older.values()], np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        found = vectors / np.where(lengths > 0, lengths, 1) @ weights + json.loads(row["shift"])
        return {one: json.dumps(vector) for one, vector in zip(older, found.tolist(), strict=True)}


def _rows(found: CandidateList, scores: Iterable[float]) -> list[tuple[float, int, int, int]]:
    """Return candidates as (-score, document, index, chunk), by which lists are sorted."""
    columns = found.document_ids, found.chunk_indexes, found.chunk_ids
    return list(zip(map(neg, scores), *columns, strict=True))
