"""What a search asks of the store, where passages, vectors and the lexical index are.

Lists by words and snippets are made here, of what the store answers.
"""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pgblend.plpy.base.catalog import LEXICAL_CACHE_BYTES, SearchSettings
from pgblend.plpy.base.ports import (
    CandidateList,
    Held,
    LiteralRequest,
    Passage,
    PassagePort,
    Sample,
    Space,
    VectorRequest,
)
from pgblend.plpy.base.session import Database, ProgramError, Rows
from pgblend.plpy.lexical.query import query_groups
from pgblend.plpy.lexical.snippets import Sought, page_snippets
from pgblend.plpy.lexical.word_list import WordList
from pgblend.plpy.search.candidates import ArmList, corrected_lexemes

if TYPE_CHECKING:
    from pgblend.plpy.lexical.arm import LexicalArm, ListScope
    from pgblend.plpy.search.query import IndexState

_SOUND = (
    "SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}') AS ids"
    " FROM pgblend_data.collection AS c WHERE c.id = ANY($1) AND c.name <> ALL($2)"
)
MOST_SAMPLED = 1000


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


class WordScope(NamedTuple):
    """What lists by words are made of, and until when.

    `deadline` is the search's own, on the monotonic clock; `cache_bytes` the session's for
    postings. `fuses`: other lists may be fused with one of these.
    """

    collection_ids: Sequence[int]
    filter: str | None
    deadline: float
    cache_bytes: int = LEXICAL_CACHE_BYTES
    fuses: bool = True


class WordLists:
    """The lists by words of one search, under one snapshot."""

    def __init__(
        self,
        db: Database,
        store: StorePort,
        scope: WordScope,
        settings: SearchSettings,
        state: "IndexState",
    ) -> None:
        self.db, self.store, self.scope = db, store, scope
        self.settings, self.state = settings, state
        self.arm: LexicalArm | None = None  # once it is asked

    def find(self, kind: str, text: str, depth: int) -> WordList:
        """Return a list of `kind` lexical or fuzzy."""
        settings = self.settings
        if kind == "lexical" and settings.lexical_method == "ts_rank_cd":
            return WordList(self._literal(kind, self.scope.collection_ids, text, depth))
        if kind == "fuzzy" and settings.fuzzy_method == "word_similarity":
            found = self._literal(kind, self._sound_ids(), text, depth)
            return WordList(found, corrections=[None] * len(found.chunk_ids))
        if self.state.reach == "none":
            return WordList(CandidateList())
        if self.arm is None:
            self.arm = self._lexical_arm()
        return (self.arm.words if kind == "lexical" else self.arm.corrected)(text, depth)

    def sample(self, text: str) -> Sample | None:
        """Return a sample of what has any of the words; None where these are not ranked by BM25."""
        if self.settings.weights["lexical"] == 0 or self.arm is None:
            return None
        return self.arm.sample(text, MOST_SAMPLED)

    def warmed_up(self) -> tuple[float | None, bool]:
        """Return when the last list's clock began, None before, and whether the index was read."""
        return (None, False) if self.arm is None else (self.arm.ready_at, self.arm.has_read)

    def _literal(self, kind: str, ids: Sequence[int], text: str, depth: int) -> CandidateList:
        words = query_groups(text)["words"]
        of_search = self.scope.filter, self.settings.language, depth
        return self.store.literal(LiteralRequest(kind, text, words, ids, *of_search))

    def _sound_ids(self) -> Sequence[int]:
        """Return the collections without those whose lexical index is known as damaged."""
        if not self.state.damaged:
            return self.scope.collection_ids
        values = self.scope.collection_ids, self.state.damaged
        ids: list[int] = self.db.run(_SOUND, ["bigint[]", "text[]"], *values)[0]["ids"]
        return ids

    def _lexical_arm(self) -> "LexicalArm":
        """Return the lexical arm; PB013 where the server's Python lacks numpy."""
        try:  # here, since other searches go without numpy
            from pgblend.plpy.lexical.arm import ListScope
        except ModuleNotFoundError as error:
            if error.name != "numpy":
                raise
            raise ProgramError(
                "the server's Python has no numpy, which the lexical arm needs",
                "Install it there (Debian: python3-numpy), then connect anew.",
                "PB013",
            ) from error
        settings = self.settings
        scope = ListScope(
            collection_ids=self._sound_ids(),
            filter=self.scope.filter,
            language=settings.language,
            by_document=settings.level == "document",
            k1=settings.k1,
            b=settings.b,
            field_weights=(settings.title_weight, settings.heading_weight, 1.0),
            timeout_ms=settings.timeouts_ms["lexical"],
            deadline=self.scope.deadline,
            checks_index=self.state.reach is None,
            strict=settings.strict,
            corrects_all=settings.fuzzy == "on",
            synonyms=settings.synonyms,
            fuses=self.scope.fuses,
        )
        return self.store.arm(scope, self.scope.cache_bytes)


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
