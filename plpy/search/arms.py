"""One arm's list of candidates."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from time import monotonic
from typing import Any

from pgblend.plpy.models.embedding import checked_vectors
from pgblend.plpy.search.stages import Search
from pgblend.plpy.session import error_state

_NAMED_SPACE = "(SELECT s FROM pgblend_data.embedding_space AS s WHERE s.name = $6)"
_ASKED = ["text", "bigint[]", "jsonb", "jsonb"]
_STATEMENT = "SELECT a.* FROM pgblend.{} AS a"
_COLUMNS = ("chunk_ids", "document_ids", "chunk_indexes", "scores")
_ARMS = {
    "lexical": (_STATEMENT.format("_lexical_arm($1, $2, $3, $4)"), _ASKED),
    "vector": (
        _STATEMENT.format(f"_vector_arm($5, {_NAMED_SPACE}, $2, $1, $3, $4)"),
        [*_ASKED, "vector", "text"],
    ),
    "fuzzy": (_STATEMENT.format("_fuzzy_arm($1, $2, $3, $4)"), _ASKED),
}


def arm_list(
    run: Callable[..., Sequence[Mapping[str, Any]]],
    kind: str,
    arm: str,
    weight: float,
    values: Sequence[object],
    handed: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the candidates of one arm (lexical, vector, fuzzy), best first, as columns.

    `run` executes (statement, types, *values); `values` are query (for vectors the one whose
    phrases and exclusions bind, or None), collection ids, filter and settings, for vectors also the
    vector and the space's name. `arm` is what the list is called (an expanded query has several of
    a kind) and `weight` what it counts in fusion. Where the arm has put its `columns` into
    `handed`, what the statement gives is left aside: numbers that Python has need not be written
    and read. The list has `chunk_ids`, `document_ids`, `chunk_indexes` and `scores`; `perfect`,
    what no passage can reach, is None for cosines.
    """
    row = run(*_ARMS[kind], *values)[0]
    if handed["columns"] is None:
        columns = {name: value or [] for name, value in row.items() if name != "perfect_score"}
    else:
        columns = dict(zip(_COLUMNS, handed["columns"], strict=True))
    return {
        "arm": arm,
        "kind": kind,
        "by_vector": kind == "vector",
        "weight": weight,
        "perfect": row.get("perfect_score"),
        **columns,
    }


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

    def find(
        self,
        kind: str,
        arm: str,
        weight: float,
        text: str | None = None,
        vector: str | None = None,
    ) -> dict[str, Any]:
        """Return the list of an arm for a text or a vector (arm_list).

        `every_word` tells that passages have every word of the text, `named` that the first
        passage's document is called so. Where the time of a list that may be missing is over, it
        is empty, and named; where the lexical index is not there, what there is is searched.
        """
        while kind == "vector" or self.search.has_words:
            try:
                return self._found(kind, arm, weight, text, vector)
            except self.db.Problem as error:
                state = error_state(error)
                if self.settings["strict"] or state not in ("PB002", "PB009"):
                    raise
                if state == "PB002":
                    self.search.go_without_index(error)
                elif arm == "lexical":
                    self.search.go_without_words(error)
                else:
                    self._note_late(kind, arm)
                    break
        columns: dict[str, list[object]] = {name: [] for name in (*_COLUMNS, "corrections")}
        about = {"arm": arm, "kind": kind, "by_vector": False, "weight": weight, "perfect": None}
        return {**about, **columns, "every_word": False, "named": False}

    def _found(
        self, kind: str, arm: str, weight: float, text: str | None, vector: str | None
    ) -> dict[str, Any]:
        """Ask an arm."""
        warmed = self.db.kept("warmed")
        handed: dict[str, Any] = {
            "columns": None,
            "every_word": False,
            "deadline": self.search.deadline,
            "warmed_up": kind not in warmed,
        }
        called_at = monotonic()
        if kind != "vector":
            self.db.session["pgblend_handed"] = handed
        try:
            values = self._values(kind, arm, text, vector)
            found = arm_list(self.db.run, kind, arm, weight, values, handed)
            return found | {
                "every_word": handed["every_word"] and self.settings["language"] is None,
                "named": kind == arm == "lexical" and self._is_named(text, found["chunk_ids"]),
            }
        finally:
            self.db.session.pop("pgblend_handed", None)
            if handed["warmed_up"] and "ready_at" in handed:
                warmed[kind] = True
                self.search.warm(handed["ready_at"] - called_at)

    def _values(self, kind: str, arm: str, text: str | None, vector: str | None) -> list[object]:
        """Return the arguments of an arm's statement."""
        depth = self.search.depth(is_variant=kind != arm)
        asked = self.search.plan.for_arm(depth, **self.search.lexical_state)
        scope = [self.search.state.collection_ids, self.search.filter, asked]
        if kind != "vector":
            return [text, *scope]
        binding = self.request.query if self.settings["weights"]["lexical"] > 0 else None
        return [binding, *scope, vector, self.settings["space"]]

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
