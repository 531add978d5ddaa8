"""The lexical arm of a coordinator: statistics are summed, lists and lexemes merged."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Protocol

from pgblend.plpy.base.ports import (
    CandidateList,
    CountRequest,
    Counts,
    KnownRequest,
    ListRequest,
    Sample,
    SimilarLexeme,
    SimilarRequest,
)
from pgblend.plpy.base.session import Database, ProgramError, Rows
from pgblend.plpy.lexical.arm import LexicalArm
from pgblend.plpy.lexical.query import asked_of
from pgblend.plpy.lexical.terms import parsed_words, parsing
from pgblend.plpy.lexical.word_list import WordList
from pgblend.plpy.search.arms import LIKE_A_NAME
from pgblend.plpy.shards.trips import Changed, Trips

_TERMS = parsing(
    "SELECT array_agg(l ORDER BY l) AS configs FROM unnest($2) AS l WHERE l = coalesce($3, l)"
)
MOST_ALIKE = 50  # of _alike_lexemes


class AskedStore(Protocol):
    """The store, as far as the arm asks it."""

    db: Database
    trips: Trips
    has_given: bool
    named_query: str | None

    def configurations(self, collection_ids: Sequence[int]) -> list[str]:
        """Return the text search configurations in use."""
        ...

    def listed(self, name: str, request: Any) -> CandidateList:
        """Return a list of all shards."""
        ...

    def settle(self) -> None:
        """Check facts that no list was asked for with."""
        ...


class ShardArm(LexicalArm):
    """Looks again where statistics that it went by have changed.

    After another list the whole search begins again, so that all of its lists are of one moment.
    """

    port: "ShardIndex"

    def words(self, query: str, depth: int) -> WordList:
        """Return the best candidates for a query's words."""
        self.port.query = query
        return self._settled(super().words, query, depth)

    def corrected(self, query: str, depth: int) -> WordList:
        """Return the candidates of a query whose misspelt and unfinished words are put right."""
        return self._settled(super().corrected, query, depth)

    def _settled(self, find: Callable[[str, int], WordList], query: str, depth: int) -> WordList:
        while True:
            try:
                found = find(query, depth)
                self.port.store.settle()
                return found
            except Changed as changed:
                if "hold" in changed.names or self.port.store.has_given:
                    raise
                self._parsed.clear()
                self._counted.clear()
                self._is_checked = False


class ShardIndex:
    """The lexical port over all shards."""

    def __init__(self, store: AskedStore) -> None:
        self.store, self.trips = store, store.trips
        self.query: str | None = None  # of the list that is asked for next, by its own words

    def words(self, query: str, collection_ids: Sequence[int], language: str | None) -> Rows:
        """Parse a query under each configuration in use, or `language` alone."""
        configs = self.store.configurations(collection_ids)
        searched = "text[]", configs
        return parsed_words(self.store.db, _TERMS, asked_of(query), searched, language)

    def check_index(self, collection_ids: Sequence[int], is_strict: bool) -> None:
        """End with PB002 where a shard lacks an index; if strict, PB003 where all are empty."""

        def merge(values: Sequence[Sequence[str] | None]) -> Sequence[str] | None:
            errors = [one for one in values if one is not None]
            for one in errors:
                if one[0] == "PB002" or len(errors) == len(values):
                    return one
            return None

        call = "check_index", collection_ids, is_strict
        error = self.trips.fact(call, merge, lambda error: error is None)
        if error is not None:
            sqlstate, message, hint, table = error
            raise ProgramError(message, hint, sqlstate, table_name=table)

    def make_ready(self, collection_ids: Sequence[int]) -> bool:
        """Do nothing: shards read what is new of their indexes as they are asked."""
        return False

    def count(self, request: CountRequest) -> Counts:
        """Count what BM25 needs to know; numbers of shards add up."""
        self.trips.left_ms = request.timeout_ms
        call = "count", request._replace(timeout_ms=0.0)

        def merge(values: Sequence[Sequence[Any]]) -> list[Any]:
            n, length, *columns = zip(*values, strict=True)
            sums = [list(map(sum, zip(*column, strict=True))) for column in columns]
            return [sum(n), sum(length), *sums]

        return Counts(*self.trips.fact(call, merge, lambda counts: bool(counts[1])))

    def find(self, request: ListRequest) -> CandidateList:
        """Find the best candidates by statistics that the request has."""
        self.trips.left_ms = request.timeout_ms
        query, self.query = self.query, None
        if query is not None and LIKE_A_NAME.search(query):
            self.store.named_query = query
        try:
            return self.store.listed("find", request)
        finally:
            self.store.named_query = None

    def sample(self, request: ListRequest) -> Sample:
        """Take a sample of what could be found on all shards."""
        from pgblend.plpy.lexical.chunk_rows import merged_samples  # of facets alone

        self.trips.left_ms = request.timeout_ms
        (answers,) = self.trips.everywhere([("sample", request)])
        return merged_samples([Sample(*answer) for answer in answers])

    def known(self, request: KnownRequest) -> Sequence[bool]:
        """Tell of each lexeme whether a vocabulary has it."""

        def merge(values: Sequence[Sequence[bool]]) -> list[bool]:
            return [any(of_lexeme) for of_lexeme in zip(*values, strict=True)]

        found: list[bool] = self.trips.fact(("known", request), merge)
        return found

    def similar(self, requests: Sequence[SimilarRequest]) -> Sequence[Sequence[SimilarLexeme]]:
        """Find lexemes that others may stand for, those of one place side by side."""
        self.trips.left_ms = requests[0].timeout_ms
        columns = self.trips.everywhere([("similar", request) for request in requests])
        return [
            merged_similar(len(request.lexemes), answers)
            for request, answers in zip(requests, columns, strict=True)
        ]


def merged_similar(places: int, answers: Sequence[Sequence[Any]]) -> list[SimilarLexeme]:
    """Return what all shards' vocabularies have for lexemes, those of one place side by side."""
    found = {SimilarLexeme(*row): None for row in chain(*answers)}
    return [
        one
        for place in range(places)
        for one in of_place([one for one in found if one.place == place])
    ]


def of_place(found: Sequence[SimilarLexeme]) -> Sequence[SimilarLexeme]:
    """Return what one lexeme may stand for: by edits, else the most alike of all."""
    near = [one for one in found if not one.is_alike]
    if near:
        return near
    return sorted(found, key=lambda one: (-one.likeness, one.lexeme))[:MOST_ALIKE]
