"""One arm's list of candidates."""

import json
import re
from collections.abc import Sequence
from time import monotonic

from pgblend.plpy.base.catalog import SearchSettings
from pgblend.plpy.base.ports import CandidateList, Sample, Space, VectorRequest
from pgblend.plpy.base.session import Json, error_state
from pgblend.plpy.models.stages import Outcome
from pgblend.plpy.search.candidates import ArmList
from pgblend.plpy.search.lexical import WordLists
from pgblend.plpy.search.lists import corrected_notes
from pgblend.plpy.search.stages import Search

LIKE_A_NAME = re.compile(r"\w[^\w\s]\w|_")


def candidate_arms(
    item: int, lists: Sequence[ArmList], ranks: Sequence[Sequence[int | None]]
) -> dict[str, dict[str, Json]]:
    """Return {arm: {rank, score}} of the arms that found it; an arm's `notes` of the rank as well.

    `ranks[list][item]` as merge_lists gives them.
    """
    return {
        of_list.arm: {
            "rank": rank,
            "score": of_list.found.scores[rank - 1],
            **of_list.notes.get(rank, {}),
        }
        for of_list, of_ranks in zip(lists, ranks, strict=True)
        if (rank := of_ranks[item]) is not None
    }


def vector_request(
    vector: str | None,
    space: Space,
    collection_ids: Sequence[int],
    is_everywhere: bool,
    binding: str | None,
    filter_: str | None,
    settings: SearchSettings,
    depth: int,
) -> VectorRequest:
    """Return what the vector arm is asked for, by the settings in force."""
    scan = settings.vector_scan, settings.ef_search, settings.rescore_factor
    where = space, collection_ids, is_everywhere
    return VectorRequest(vector, *where, binding, filter_, settings.language, *scan, depth)


class Arms:
    """The arms of one search."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.db, self.request = search.db, search.request
        self.by_words = self._word_lists()

    def _word_lists(self) -> WordLists:
        """Return the lists by words, with what was learnt of the lexical index."""
        search = self.search
        ids, settings = search.state.collection_ids, search.settings
        return WordLists(
            self.db,
            search.store,
            ids,
            search.filter,
            settings,
            search.deadline,
            search.lexical_state,
            search.plan.cache_bytes,
        )

    def find(
        self, kind: str, arm: str, weight: float, text: str = "", vector: str | None = None
    ) -> ArmList:
        """Return the candidates of one arm (lexical, vector, fuzzy), best first.

        Where the time of a list that may be missing is over, it is empty, and named.
        """
        if kind == "vector":
            return ArmList(arm, kind, weight, self._by_vector(vector, is_variant=kind != arm))
        while True:
            try:
                return self._by_words(kind, arm, weight, text)
            except self.db.Problem as error:
                if not self._goes_on(kind, arm, error):
                    return ArmList(arm, kind, weight, CandidateList())

    def _by_words(self, kind: str, arm: str, weight: float, text: str) -> ArmList:
        """Return the list of a text."""
        called_at = monotonic()
        try:
            words = self.by_words.find(kind, text, self.search.depth(is_variant=kind != arm))
        finally:
            self._tell_warm_up(kind, called_at)
        settings = self.search.settings
        is_whole = words.every_word and settings.language is None
        may_be_named = kind == arm == "lexical" and words.may_be_named
        is_named = may_be_named and self._is_named(text, words.found.chunk_ids)
        notes = corrected_notes(words.corrections, settings.fuzzy_method)
        for rank, synonyms in enumerate(words.synonyms, 1):
            if synonyms:
                notes[rank] = {**notes.get(rank, {}), "synonyms": synonyms}
        told = is_whole, is_named, words.meanings
        one_word = words.one_word
        return ArmList(
            arm, kind, weight, words.found, notes, *told, known=words.known, one_word=one_word
        )

    def _goes_on(self, kind: str, arm: str, error: Exception) -> bool:
        """Name what an arm failed for; tell whether it is to be asked once more, or is left out."""
        state = error_state(error)
        is_needed = state == "PB013" and self.search.plan.only_arm is not None
        if self.search.settings.strict or is_needed or state not in ("PB002", "PB009", "PB013"):
            raise error
        if state == "PB009" and arm != "lexical":
            self._note_late(kind, arm)
            return False
        if state == "PB002":
            self.search.go_without_index(error)
        else:
            self.search.go_without_words(error, state)
        self.by_words = self._word_lists()
        return True

    def sample(self) -> Sample | None:
        """Return a sample of what has any of the query's words; None where there is no time."""
        try:
            return self.by_words.sample(self.request.query or "")
        except self.db.Problem as error:
            if error_state(error) not in ("PB002", "PB009"):
                raise
            return None

    def expect(self, vector: str | None) -> None:
        """Tell the store which list of vectors will be asked for; None: that is not known yet."""
        if vector is not None and self.search.settings.weights["vector"] > 0:
            request = self._vector_request(vector, is_variant=False)
            if request is not None:
                self.search.store.expect(request)

    def _by_vector(self, vector: str | None, is_variant: bool) -> CandidateList:
        """Return the list of a vector."""
        request = self._vector_request(vector, is_variant)
        return CandidateList() if request is None else self.search.store.nearest(request)

    def _vector_request(self, vector: str | None, is_variant: bool) -> VectorRequest | None:
        """Return what is asked for; the query's phrases and exclusions bind it."""
        search = self.search
        if search.space is None:
            return None
        binding = self.request.query if search.settings.weights["lexical"] > 0 else None
        return vector_request(
            vector,
            search.space,
            search.state.collection_ids,
            search.state.is_everywhere,
            binding,
            search.filter,
            search.settings,
            search.depth(is_variant),
        )

    def _tell_warm_up(self, kind: str, called_at: float) -> None:
        """Tell what a session does once apart: it reads what is new of the index."""
        warmed = self.db.kept("warmed")
        ready_at, has_read = self.by_words.warmed_up()
        if ready_at is not None and ready_at > called_at and (has_read or kind not in warmed):
            warmed[kind] = True
            self.search.warm(ready_at - called_at)

    def _is_named(self, text: str, chunk_ids: Sequence[int]) -> bool:
        """Tell whether the first chunk is of a document that is called so; a quick look first."""
        if self.search.settings.fusion != "convex" or not chunk_ids:
            return False
        if not LIKE_A_NAME.search(text):
            return False
        return self.search.store.is_named(text, chunk_ids[0])

    def _note_late(self, kind: str, arm: str) -> None:
        """Name a list whose time is over."""
        key = "total" if monotonic() > self.search.deadline else "lexical"
        stage = "fuzzy" if kind == arm else "expand"
        self.search.note(
            stage, f"the time limit of {arm} is over", f"Raise timeouts_ms, key {key}."
        )

    def vectors_of(self, outcome: Outcome, count: int) -> list[str] | None:
        """Return the vectors in the gateway's answer; None, and named, where there are none."""
        problem, hint = outcome.problem, outcome.hint
        if problem is None:
            from pgblend.plpy.models.embedding import checked_vectors  # vectors may be given

            space = self.search.space
            vectors = checked_vectors(outcome.answer, count, space._asdict() if space else None)
            if isinstance(vectors, list):
                return [json.dumps(vector) for vector in vectors]
            problem, hint = vectors["problem"], vectors["hint"]
        self.search.degrade("vector", problem, hint)
        return None
