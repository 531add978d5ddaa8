"""What a search asks of the store, where passages, vectors and the lexical index are; snippets."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Protocol

from pgblend.plpy.base.ports import (
    CandidateList,
    Held,
    LiteralRequest,
    Passage,
    PassagePort,
    Space,
    VectorRequest,
)
from pgblend.plpy.base.session import Database, Rows
from pgblend.plpy.lexical.snippets import Sought, page_snippets
from pgblend.plpy.search.candidates import ArmList, corrected_lexemes

if TYPE_CHECKING:
    from pgblend.plpy.lexical.arm import LexicalArm, ListScope


class StorePort(PassagePort, Protocol):
    """Where a search finds and reads passages."""

    def begin(
        self, deadline: float, collection_ids: Sequence[int], is_strict: bool, walks: bool
    ) -> tuple[str, str, str, str] | None:
        """Hear when a search of collections must be over; return what of the store is missing.

        That is a name for it, the problem, a hint and an SQLSTATE.

        `walks`: it follows edges, which lead to documents of other collections as well.
        """

    def arm(self, scope: "ListScope", cache_bytes: int) -> "LexicalArm":
        """Return the lexical arm of a search, of which a session keeps so many bytes of postings.

        ModuleNotFoundError where there is no numpy.
        """

    def expect(self, request: VectorRequest) -> None:
        """Hear which vectors will be asked for, so that one question can bring two answers."""

    def has_chunks(self, collection_ids: Sequence[int]) -> bool:
        """Tell whether collections have passages."""

    def is_building(self, collection_ids: Sequence[int]) -> bool:
        """Tell whether a session builds the lexical index of one of the collections."""

    def hold(self, space: Space, collection_ids: Sequence[int], asks: bool) -> Held:
        """Keep a space from being dropped; whether it has vectors is told where it `asks`."""

    def nearest(self, request: VectorRequest) -> CandidateList:
        """Return the passages nearest to a vector."""

    def note_spaces(self, spaces: Sequence[Space]) -> None:
        """Hear which embedding spaces there are."""

    def spaces(self, chunk_ids: Sequence[int]) -> Mapping[int, str]:
        """Return the space that each passage was compared in, where that is not one for all."""

    def literal(self, request: LiteralRequest) -> CandidateList:
        """Return a list by words without the lexical index."""

    def is_named(self, query: str, chunk_id: int) -> bool:
        """Tell whether a passage's document is called as the query asks."""

    def configurations(self, collection_ids: Sequence[int]) -> list[str]:
        """Return the text search configurations in use."""

    def highlight(self, highlights: "Highlights") -> None:
        """Hear what snippets mark: those that come with passages are noted there."""

    def around(self, chunk_ids: Sequence[int], sizes: Mapping[str, float]) -> Rows:
        """Return passages and those around them in their documents (_chunks_around)."""


# The snippets of a page: those that came with their passages, and the rest.


class Highlights:
    """What snippets of one search mark: its query, and what the fuzzy arm took for its words.

    `meanings` has what the query looks for in each configuration, where a list by words knows it.
    `ready` are the snippets that came with passages, by chunk id.
    """

    def __init__(self, query: str | None, lists: Sequence[ArmList]) -> None:
        named = {one.arm: one for one in lists}
        lexical, fuzzy = named.get("lexical"), named.get("fuzzy")
        self.query = query
        self.meanings = lexical.meanings if lexical else {}
        self.known: dict[tuple[str, tuple[str, ...]], Sought] = {}
        self.ready: dict[int, str] = {}
        self.notes = {}
        if fuzzy:
            notes = map(fuzzy.notes.get, count(1))
            self.notes = dict(zip(fuzzy.found.chunk_ids, notes, strict=False))  # counts are endless

    def corrections(self, chunk_id: int) -> tuple[str, ...]:
        """Return the lexemes that the fuzzy arm took for unknown words where it found a passage."""
        return corrected_lexemes(self.notes.get(chunk_id) or {})

    def sought(self, passage: Passage) -> Sought:
        """Return what a passage was found by."""
        config = passage.text_search_config
        key = config, self.corrections(passage.chunk_id) if self.notes else ()
        if key not in self.known:
            self.known[key] = Sought(self.query, key[1], self.meanings.get(config))
        return self.known[key]


def shown_snippets(
    db: Database, highlights: Highlights, passages: Sequence[Passage]
) -> Mapping[int, str]:
    """Return the snippets of passages by chunk id; those that came with passages are taken."""
    rest = [one for one in passages if one.chunk_id not in highlights.ready]
    return {**highlights.ready, **made_snippets(db, rest, list(map(highlights.sought, rest)))}


def made_snippets(
    db: Database, passages: Sequence[Passage], sought: Sequence[Sought]
) -> dict[int, str]:
    """Make the snippets of passages, each with what it was found by; return them by chunk id."""
    contents = [one.content for one in passages]
    configs = [one.text_search_config for one in passages]
    snippets = page_snippets(db, contents, sought, configs)
    return {one.chunk_id: made for one, made in zip(passages, snippets, strict=True)}
