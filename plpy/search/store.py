"""What a search asks of the store, where passages, vectors and the lexical index are."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from pgblend.plpy.ports import (
    CandidateList,
    Held,
    LiteralRequest,
    PassagePort,
    Space,
    VectorRequest,
)
from pgblend.plpy.session import Rows

if TYPE_CHECKING:
    from pgblend.plpy.lexical.arm import LexicalArm, Scope
    from pgblend.plpy.search.snippets import Highlights


class StorePort(PassagePort, Protocol):
    """Where a search finds and reads passages."""

    def begin(
        self, deadline: float, collection_ids: Sequence[int], is_strict: bool, walks: bool
    ) -> tuple[str, str] | None:
        """Hear when a search of collections must be over; return what is missing, and a hint.

        `walks`: it follows edges, which lead to documents of other collections as well.
        """

    def arm(self, scope: "Scope", cache_bytes: int) -> "LexicalArm":
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

    def literal(self, request: LiteralRequest) -> CandidateList:
        """Return a list by words without the lexical index."""

    def is_named(self, query: str, chunk_id: int) -> bool:
        """Tell whether a passage's document is called as the query asks."""

    def may_stand_in(self, query: str, collection_ids: Sequence[int], space: Space) -> bool:
        """Tell whether vectors may stand in for words that are nowhere."""

    def highlight(self, highlights: "Highlights") -> None:
        """Hear what snippets mark, so that they can come with passages."""

    def snippets(self, highlights: "Highlights") -> Mapping[int, str]:
        """Return by chunk id the snippets that came with passages, with these marks."""

    def around(self, chunk_ids: Sequence[int], sizes: Mapping[str, float]) -> Rows:
        """Return passages and those around them in their documents (_chunks_around)."""
