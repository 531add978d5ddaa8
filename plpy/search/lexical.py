"""The lists of one search by words: by the lexical arm, or by what a setting puts in its place."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pgblend.plpy.base.catalog import LEXICAL_CACHE_BYTES, SearchSettings
from pgblend.plpy.base.ports import CandidateList, LiteralRequest, Sample
from pgblend.plpy.base.session import Database, ProgramError
from pgblend.plpy.lexical.query import query_groups
from pgblend.plpy.lexical.word_list import WordList
from pgblend.plpy.search.query import IndexState
from pgblend.plpy.search.store import StorePort

if TYPE_CHECKING:
    from pgblend.plpy.lexical.arm import LexicalArm

_SOUND = (
    "SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}') AS ids"
    " FROM pgblend_data.collection AS c WHERE c.id = ANY($1) AND c.name <> ALL($2)"
)


MOST_SAMPLED = 1000


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
        state: IndexState,
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
