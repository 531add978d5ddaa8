"""One arm's list of candidates."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from time import monotonic
from typing import Any

from pgblend.plpy.models.embedding import checked_vectors
from pgblend.plpy.search.lexical import COLUMNS, WordLists
from pgblend.plpy.search.stages import Search
from pgblend.plpy.session import Database, error_state

_VECTOR = (
    "SELECT a.* FROM pgblend._vector_arm($3, (SELECT s FROM pgblend_data.embedding_space AS s"
    " WHERE s.name = $4), $2, $1, $5, $6) AS a"
)
_VECTOR_TYPES = ["text", "bigint[]", "vector", "text", "jsonb", "jsonb"]


def vector_list(db: Database, *values: object) -> dict[str, Any]:
    """Return the columns of the vector arm's list; there is no perfect cosine among them.

    `values` are the query whose phrases and exclusions bind, or None, collection ids, the vector,
    the space's name, the filter and what the arm reads of the settings.
    """
    row = db.run(_VECTOR, _VECTOR_TYPES, *values)[0]
    return {**{name: value or [] for name, value in row.items()}, "perfect": None}


def candidate_arms(
    item: int,
    lists: Sequence[Mapping[str, Any]],
    ranks: Sequence[Sequence[int | None]],
) -> dict[str, dict[str, Any]]:
    """Return {arm: {rank, score}} of the arms that found it; an arm's `notes` of the rank as well.

    `ranks[list][item]` as merge_lists gives them; `lists` have `arm` and `scores`, best first, and
    may have `notes`, {rank: {name: value}}.
    """
    return {
        of_list["arm"]: {
            "rank": rank,
            "score": of_list["scores"][rank - 1],
            **of_list.get("notes", {}).get(rank, {}),
        }
        for of_list, of_ranks in zip(lists, ranks, strict=True)
        if (rank := of_ranks[item]) is not None
    }


_IS_NAMED = "SELECT pgblend._is_named($1, $2) AS found"


class Arms:
    """The arms of one search."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.db, self.request, self.settings = search.db, search.request, search.settings
        self.by_words = self._word_lists()

    def _word_lists(self) -> WordLists:
        """Return the lists by words, with what was learnt of the lexical index."""
        search = self.search
        settings = {**self.settings, **search.lexical_state}
        ids = search.state.collection_ids
        return WordLists(self.db, ids, search.filter, settings, search.deadline)

    def find(
        self,
        kind: str,
        arm: str,
        weight: float,
        text: str | None = None,
        vector: str | None = None,
    ) -> dict[str, Any]:
        """Return the candidates of one arm (lexical, vector, fuzzy), best first, as columns.

        `arm` is what the list is called (an expanded query has several of a kind) and `weight` what
        it counts in fusion. The list has `chunk_ids`, `document_ids`, `chunk_indexes` and `scores`;
        `perfect`, what no passage can reach, is None for cosines. `every_word` tells that passages
        have every word of the text, `named` that the first passage's document is called so. Where
        the time of a list that may be missing is over, it is empty, and named.
        """
        about = {"arm": arm, "kind": kind, "by_vector": kind == "vector", "weight": weight}
        if kind == "vector":
            found = self._by_vector(vector, is_variant=kind != arm)
            return {**about, **found, "every_word": False, "named": False}
        while True:
            try:
                return {**about, **self._by_words(kind, arm, text)}
            except self.db.Problem as error:
                if not self._goes_on(kind, arm, error):
                    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
                    more = {"corrections": [], "every_word": False, "named": False}
                    return {**about, **columns, **more, "perfect": None}

    def _by_words(self, kind: str, arm: str, text: str | None) -> dict[str, Any]:
        """Return the list of a text."""
        called_at = monotonic()
        try:
            found = self.by_words.find(kind, text, self.search.depth(is_variant=kind != arm))
        finally:
            self._tell_warm_up(kind, called_at)
        is_whole = found.get("every_word", False) and self.settings["language"] is None
        is_named = kind == arm == "lexical" and self._is_named(text, found["chunk_ids"])
        return {**found, "every_word": is_whole, "named": is_named}

    def _goes_on(self, kind: str, arm: str, error: Exception) -> bool:
        """Name what an arm failed for; tell whether it is to be asked once more, or is left out."""
        state = error_state(error)
        is_needed = state == "PB013" and self.search.plan.only_arm is not None
        if self.settings["strict"] or is_needed or state not in ("PB002", "PB009", "PB013"):
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

    def _by_vector(self, vector: str | None, is_variant: bool) -> dict[str, Any]:
        """Return the list of a vector; the query's phrases and exclusions bind it."""
        request = self.request
        binding = request.query if self.settings["weights"]["lexical"] > 0 else None
        asked = self.search.plan.for_arm(self.search.depth(is_variant))
        ids, space = self.search.state.collection_ids, self.settings["space"]
        return vector_list(self.db, binding, ids, vector, space, self.search.filter, asked)

    def _tell_warm_up(self, kind: str, called_at: float) -> None:
        """Tell what a session does once apart: it reads what is new of the index."""
        warmed = self.db.kept("warmed")
        ready_at, has_read = self.by_words.warmed_up()
        if ready_at is not None and ready_at > called_at and (has_read or kind not in warmed):
            warmed[kind] = True
            self.search.warm(ready_at - called_at)

    def _is_named(self, text: str | None, chunk_ids: Sequence[int]) -> bool:
        """Tell whether the first chunk is of a document that is called so; a quick look first."""
        is_name = re.search(r"\w[^\w\s]\w|_", text or "")
        if self.settings["fusion"] != "convex" or not chunk_ids or not is_name:
            return False
        found: bool = self.db.run(_IS_NAMED, ["text", "bigint"], text, chunk_ids[0])[0]["found"]
        return found

    def _note_late(self, kind: str, arm: str) -> None:
        """Name a list whose time is over."""
        key = "total" if monotonic() > self.search.deadline else "lexical"
        stage = "fuzzy" if kind == arm else "expand"
        self.search.note(
            stage, f"the time limit of {arm} is over", f"Raise timeouts_ms, key {key}."
        )

    def vectors_of(self, outcome: Mapping[str, Any], count: int) -> list[str] | None:
        """Return the vectors in the gateway's answer; None, and named, where there are none."""
        if "answer" in outcome:
            space = self.search.space
            vectors = checked_vectors(outcome["answer"], count, asdict(space) if space else None)
            if isinstance(vectors, list):
                return [json.dumps(vector) for vector in vectors]
            outcome = vectors
        self.search.degrade("vector", outcome)
        return None
