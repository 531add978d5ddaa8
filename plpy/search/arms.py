"""Whom a search may ask, the lists of all arms, and what it does where one of them fails."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import NamedTuple

from pgblend.plpy.base.catalog import SearchSettings
from pgblend.plpy.base.ports import CandidateList, Held, Sample, Space, VectorRequest
from pgblend.plpy.base.session import (
    ProgramError,
    error_fields,
    error_message,
    error_state,
)
from pgblend.plpy.models.outcome import Outcome, checked_vectors
from pgblend.plpy.search.candidates import ArmList, StoredPassages, corrected_notes
from pgblend.plpy.search.lists import ListSearch, gathered_lists
from pgblend.plpy.search.plan import check_cursor
from pgblend.plpy.search.pool import Pool
from pgblend.plpy.search.query import Log, Query, Tries, sentences
from pgblend.plpy.search.store import StorePort, WordLists, WordScope

_SEES_ALL = "SELECT pg_has_role('pgblend_admin', 'USAGE') AS found"
_BEHIND = (
    "SELECT CASE WHEN pg_is_in_recovery()"
    " THEN pg_wal_lsn_diff($1::pg_lsn, pg_last_wal_replay_lsn())::bigint END AS behind"
)
_NO_SPACE = "pgblend worker makes and fills one where a model gateway runs"
_WAITING = "vector: some passages have no vector yet (pgblend worker makes them)"


def begin(query: Query, store: StorePort, log: Log) -> Query:
    """Return the query with its space; name what the search does without from the start."""
    settings, plan = query.settings, query.plan
    check_cursor(settings.after)
    _check_collections(query, log)
    if settings.wait_for is not None:
        _check_replay(settings.wait_for, log)
    walks = settings.graph["weight"] > 0
    missing = store.begin(query.deadline, query.collection_ids, settings.strict, walks)
    if missing is not None:
        log.note(*missing)
    if settings.weights["vector"] > 0:
        query = look_for_vectors(query, store, log, plan.needs_vectors)
    for stage, problem in plan.not_run.items():
        asking = ["mode", stage, *(["history"] if stage == "expand" else [])]
        if any(plan.options.get(name) for name in asking):
            log.note(stage, problem, "The mode fast does without", "PB010")
    return query


def _check_collections(query: Query, log: Log) -> None:
    """Name that a role without any grant searches; nothing of one that sees all."""
    db, role = log.db, query.state.role
    if query.collection_ids or db.run(_SEES_ALL, [])[0]["found"]:
        return
    quoted = db.run("SELECT format('%I', $1) AS i, format('%L', $1) AS l", ["text"], role)
    problem = f"role {quoted[0]['i']} may read no collection"
    grant = f"SELECT grant_collection(NAME, {quoted[0]['l']})"
    hint = f"A member of pgblend_admin grants one: {grant}."
    if query.plan.needs_vectors:
        raise ProgramError(f"VECTORS_UNAVAILABLE: {problem}", hint, "PB001")
    if query.settings.strict:
        raise ProgramError(problem, hint, "42501")
    db.warn(problem, hint)
    log.degraded.append(f"collections: {sentences(problem, hint)}")


def _check_replay(place: str, log: Log) -> None:
    """Name what a standby has not replayed of what the search waited for."""
    behind = log.db.run(_BEHIND, ["text"], place)[0]["behind"]
    if behind is not None and behind > 0:
        hint = "Search again, or raise timeouts_ms, key total: commands wait as long"
        problem = f"this standby is {behind} bytes of the log behind {place}"
        log.note("replica", problem, hint, "PB015")


def look_for_vectors(query: Query, store: StorePort, log: Log, is_required: bool) -> Query:
    """Return the query with the space to search; name that there is none, or not all of it.

    The space cannot be dropped before the transaction ends.
    """
    space = query.state.space(query.settings.space)
    problem, hint = "no embedding space yet", _NO_SPACE
    if space is None and is_required:
        hint += ".\nlexical_search needs no vectors."
        raise ProgramError(f"VECTORS_UNAVAILABLE: {problem}", hint, "PB001")
    if space is None:
        log.note("vector", problem, hint, "PB001")
        return query
    held = _held(space, query, store, is_required)
    check_vector(query.request.query_embedding, space)
    if is_required and not held.has_vectors:
        problem = "VECTORS_UNAVAILABLE: no passage searched has a vector"
        raise ProgramError(
            problem, "Run pgblend ingest with a model gateway to make them.", "PB001"
        )
    if held.is_waiting:
        log.degraded.append(_WAITING)
    return replace(query, space=space)


def _held(space: Space, query: Query, store: StorePort, asks: bool) -> Held:
    """Keep a space from being dropped; whether it has vectors is known where it `asks`."""
    held = store.hold(space, query.collection_ids, asks)
    if not held.is_there:
        raise ProgramError(
            f'embedding space "{space.name}" was dropped meanwhile',
            "Search again, in a new transaction.",
            "40001",
        )
    return held


def check_vector(vector: str | None, space: Space) -> None:
    """Raise 22023 for a query's vector that cannot be compared in a space."""
    if vector is None:
        return
    dimensions = vector.count(",") + 1
    if dimensions != space.dimensions:
        raise ProgramError(
            f'query_embedding has {dimensions} dimensions, embedding space "{space.name}" holds'
            f" {space.dimensions}",
            f'Embed the query with the model "{space.model}".',
        )
    if not re.search("[1-9]", vector):
        raise ProgramError(
            "query_embedding is the zero vector, which has no direction",
            "Leave it NULL to have the query embedded.",
        )


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
