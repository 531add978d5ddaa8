"""The lists of all arms, and what a search does where one of them fails."""

import json
import re
from collections.abc import Sequence
from time import monotonic
from typing import NamedTuple

from pgblend.plpy.base.catalog import SearchSettings
from pgblend.plpy.base.ports import CandidateList, Sample, Space, VectorRequest
from pgblend.plpy.base.session import (
    ProgramError,
    error_fields,
    error_message,
    error_state,
)
from pgblend.plpy.models.outcome import Outcome
from pgblend.plpy.search.candidates import ArmList
from pgblend.plpy.search.lexical import WordLists, WordScope
from pgblend.plpy.search.lists import ListSearch, corrected_notes, gathered_lists
from pgblend.plpy.search.log import Log
from pgblend.plpy.search.passages import StoredPassages
from pgblend.plpy.search.pool import Pool
from pgblend.plpy.search.query import Query, Tries
from pgblend.plpy.search.store import StorePort

LIKE_A_NAME = re.compile(r"\w[^\w\s]\w|_")


class VectorScope(NamedTuple):
    """Where vectors are looked for: what VectorRequest has of it."""

    space: Space
    collection_ids: Sequence[int]
    is_everywhere: bool
    binding: str | None
    filter: str | None


def vector_request(
    vector: str | None, scope: VectorScope, settings: SearchSettings, depth: int
) -> VectorRequest:
    """Return what the vector arm is asked for, by the settings in force."""
    scan = settings.vector_scan, settings.ef_search, settings.rescore_factor
    return VectorRequest(vector, *scope, settings.language, *scan, depth)


def gather(query: Query, pool: Pool, store: StorePort, log: Log) -> Pool:
    """Ask every arm for its list, and models meanwhile."""
    arms = Arms(query, store, log, pool.stored)
    vector = query.request.query_embedding if query.words_found else None
    is_traced = query.request.traced != "none"
    arms.expect(vector)
    with query.models(log.db) as models:
        asked = query.text, vector, query.plan, query.space_name, is_traced
        try:
            gathered = gathered_lists(ListSearch(*asked, arms, log, models))
        except ValueError as error:
            raise ProgramError(str(error), "expand_query gives the texts.") from None
    sample = arms.sample() if query.request.traced == "facets" else None
    if gathered.vector is not None and not query.words_found:
        hint = "These rows are the nearest by vectors, and the option strict leaves them out"
        log.note("lexical", "no passage was found by its words", hint)
    pool.stored.vector = gathered.vector
    for of_list in gathered.lists:
        if of_list.arm == "vector":
            found = of_list.found
            pool.stored.known_cosines.update(zip(found.chunk_ids, found.scores, strict=True))
    lists, expansion = gathered.lists, gathered.expansion
    return pool._replace(lists=lists, expansion=expansion, sample=sample)


class Arms:
    """The arms of one search."""

    def __init__(self, query: Query, store: StorePort, log: Log, stored: StoredPassages) -> None:
        self.query, self.store, self.log, self.db = query, store, log, log.db
        self.stored = stored
        self.by_words = self._word_lists()

    def _word_lists(self) -> WordLists:
        """Return the lists by words, with what was learnt of the lexical index."""
        query = self.query
        return WordLists(
            self.db,
            self.store,
            WordScope(
                query.collection_ids,
                query.filter,
                query.deadline,
                query.plan.cache_bytes,
                fuses=query.plan.only_arm is None,
            ),
            query.settings,
            self.log.index,
        )

    def find(
        self,
        kind: str,
        arm: str,
        weight: float,
        text: str = "",
        vector: str | None = None,
        depth: int | None = None,
    ) -> ArmList:
        """Return the candidates of one arm (lexical, vector, fuzzy), best first.

        By words `depth` of them, or as many as are set. Where the time of a list that may be
        missing is over, it is empty, and named.
        """
        if kind == "vector":
            return ArmList(arm, kind, weight, self._by_vector(vector, is_variant=kind != arm))
        while True:
            try:
                return self._by_words(kind, arm, weight, text, depth)
            except self.db.Problem as error:
                if not self._goes_on(kind, arm, error):
                    return ArmList(arm, kind, weight, CandidateList())

    def _by_words(
        self, kind: str, arm: str, weight: float, text: str, depth: int | None
    ) -> ArmList:
        """Return the list of a text."""
        called_at = monotonic()
        depth = depth or self.query.depth(is_variant=kind != arm)
        try:
            words = self.by_words.find(kind, text, depth)
        finally:
            self._tell_warm_up(kind, called_at)
        settings = self.query.settings
        is_whole = words.every_word and settings.language is None
        may_be_named = kind == arm == "lexical" and words.may_be_named
        is_named = may_be_named and self._is_named(text, words.found.chunk_ids)
        notes = corrected_notes(words.corrections, settings.fuzzy_method)
        for rank, synonyms in enumerate(words.synonyms, 1):
            if synonyms:
                notes[rank] = {**notes.get(rank, {}), "synonyms": synonyms}
        told = is_whole, is_named, words.meanings
        known, asked = words.known, words.asked
        return ArmList(arm, kind, weight, words.found, notes, *told, known=known, asked=asked)

    def _goes_on(self, kind: str, arm: str, error: Exception) -> bool:
        """Name what an arm failed for; tell whether it is to be asked once more, or is left out."""
        state = error_state(error)
        is_needed = state == "PB013" and self.query.plan.only_arm is not None
        if self.query.settings.strict or is_needed or state not in ("PB002", "PB009", "PB013"):
            raise error
        if state == "PB009" and arm != "lexical":
            self._note_late(kind, arm)
            return False
        if state == "PB002":
            go_without_index(self.query, self.store, self.log, error)
        else:
            go_without_words(self.log, error, state)
        self.by_words = self._word_lists()
        return True

    def say_more(self, found: CandidateList, most: int) -> bool:
        """Tell whether any of so many passages neither is of the first's document nor copies it."""
        ids: dict[bool, list[int]] = {True: [], False: []}
        for chunk_id, document_id in zip(found.chunk_ids[:most], found.document_ids, strict=False):
            ids[document_id == found.document_ids[0]].append(chunk_id)
        if not ids[False]:
            return False
        from pgblend.plpy.search.choose import all_repeat  # of few searches

        passages = self.stored.texts(ids[True] + ids[False])
        own, others = (
            [passages[one].content if one in passages else None for one in ids[is_own]]
            for is_own in (True, False)
        )
        return not all_repeat(others, own, self.query.settings)

    def sample(self) -> Sample | None:
        """Return a sample of what has any of the query's words; None where there is no time."""
        try:
            return self.by_words.sample(self.query.text)
        except self.db.Problem as error:
            if error_state(error) not in ("PB002", "PB009"):
                raise
            return None

    def expect(self, vector: str | None) -> None:
        """Tell the store which list of vectors will be asked for; None: that is not known yet."""
        if vector is not None and self.query.settings.weights["vector"] > 0:
            request = self._vector_request(vector, is_variant=False)
            if request is not None:
                self.store.expect(request)

    def _by_vector(self, vector: str | None, is_variant: bool) -> CandidateList:
        """Return the list of a vector."""
        request = self._vector_request(vector, is_variant)
        return CandidateList() if request is None else self.store.nearest(request)

    def _vector_request(self, vector: str | None, is_variant: bool) -> VectorRequest | None:
        """Return what is asked for; the query's phrases and exclusions bind it."""
        query = self.query
        if query.space is None:
            return None
        binding = query.request.query if query.settings.weights["lexical"] > 0 else None
        is_everywhere = query.state.is_everywhere
        scope = VectorScope(query.space, query.collection_ids, is_everywhere, binding, query.filter)
        return vector_request(vector, scope, query.settings, query.depth(is_variant))

    def _tell_warm_up(self, kind: str, called_at: float) -> None:
        """Tell what a session does once apart: it reads what is new of the index."""
        warmed = self.db.kept("warmed")
        ready_at, has_read = self.by_words.warmed_up()
        if ready_at is not None and ready_at > called_at and (has_read or kind not in warmed):
            warmed[kind] = True
            self.log.warm(ready_at - called_at)

    def _is_named(self, text: str, chunk_ids: Sequence[int]) -> bool:
        """Tell whether the first chunk is of a document that is called so; a quick look first."""
        if self.query.settings.fusion != "convex" or not chunk_ids:
            return False
        if not LIKE_A_NAME.search(text):
            return False
        return self.store.is_named(text, chunk_ids[0])

    def _note_late(self, kind: str, arm: str) -> None:
        """Name a list whose time is over."""
        key = "total" if monotonic() > self.query.deadline else "lexical"
        stage = "fuzzy" if kind == arm else "expand"
        self.log.note(stage, f"the time limit of {arm} is over", f"Raise timeouts_ms, key {key}.")

    def vectors_of(self, outcome: Outcome, count: int) -> list[str] | None:
        """Return the vectors in the gateway's answer; None, and named, where there are none."""
        problem, hint = outcome.problem, outcome.hint
        if problem is None:
            from pgblend.plpy.models.embedding import checked_vectors  # vectors may be given

            space = self.query.space
            vectors = checked_vectors(outcome.answer, count, space._asdict() if space else None)
            if isinstance(vectors, list):
                return [json.dumps(vector) for vector in vectors]
            problem, hint = vectors["problem"], vectors["hint"]
        self.log.degrade("vector", problem, hint)
        return None


# What a search does where the lexical index or its time is not there.


def go_without_index(query: Query, store: StorePort, log: Log, error: Exception) -> None:
    """Name what of the lexical index is not there, and search what there is.

    One that is not there at all may be by another snapshot. Then the search begins again, first
    after pauses where another session builds it.
    """
    hint, damaged = error_fields(error)
    if not damaged and log.index.reach:
        raise error
    status = "error" if damaged else "uninitialized"
    if not damaged and store.is_building(query.collection_ids):
        status = "building"
    tries = log.tries._replace(attempts=log.tries.attempts + 1, problem="PB002", status=status)
    if not damaged and tries.waits and (status == "building" or not tries.looked_again):
        _begin_again(tries, status == "building")
    log.tries = tries
    log.note("lexical", error_message(error), hint, "PB002")
    if damaged:
        log.index = log.index._replace(damaged=[*log.index.damaged, damaged])
    else:
        log.index = log.index._replace(reach="incomplete")


def _begin_again(tries: Tries, waits: bool) -> None:
    """End this attempt; _search begins another one."""
    if waits:
        pause_s, *left = tries.waits
        tries = tries._replace(pause_s=pause_s, waits=left)
    else:
        tries = tries._replace(pause_s=0.0, looked_again=True)
    message = "the lexical index was not there when this search began"
    raise ProgramError(message, "Search again.", "PB012", tries.write())


def go_without_words(log: Log, error: Exception, sqlstate: str) -> None:
    """Name why no arm by words is run any more: no time (PB009), or no numpy (PB013)."""
    log.tries = log.tries._replace(attempts=log.tries.attempts + 1, problem=sqlstate)
    log.note("lexical", error_message(error), error_fields(error)[0], sqlstate)
    log.index = log.index._replace(reach="none")
