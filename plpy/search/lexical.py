"""The lists of one search by words: by the lexical arm, or by what a setting puts in its place."""

from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.session import Database

COLUMNS = ("chunk_ids", "document_ids", "chunk_indexes", "scores")
_SOUND = (
    "SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}') AS ids"
    " FROM pgblend_data.collection AS c WHERE c.id = ANY($1) AND c.name <> ALL($2)"
)
_LEAF = "SELECT a.* FROM pgblend.{}($1, $2, $3, $4, $5) AS a"
_LEAF_TYPES = ["text", "bigint[]", "jsonb", "text", "integer"]


class WordLists:
    """The lists by words of one search, under one snapshot.

    `settings` are those of the search, `deadline` is its own, on the monotonic clock.
    """

    def __init__(
        self,
        db: Database,
        collection_ids: Sequence[int],
        filter_: str | None,
        settings: Mapping[str, Any],
        deadline: float,
    ) -> None:
        self.db, self.filter, self.settings, self.deadline = db, filter_, settings, deadline
        self.all_ids = collection_ids
        self.arm: Any = None  # the lexical arm, once it is asked

    def find(self, kind: str, text: str | None, depth: int) -> dict[str, Any]:
        """Return a list of `kind` lexical or fuzzy, as columns; `perfect` is what none can reach.

        A fuzzy one has `corrections` of each row; `every_word` tells that passages have every word
        of the text.
        """
        settings = self.settings
        if kind == "lexical" and settings["lexical_method"] == "ts_rank_cd":
            return self._leaf("_cover_density_arm", self.all_ids, text, depth)
        if kind == "fuzzy" and settings["fuzzy_method"] == "word_similarity":
            return self._leaf("_trigram_arm", self._sound_ids(), text, depth)
        if settings.get("lexical_index") == "none":
            return {**{name: [] for name in COLUMNS}, "perfect": None, "corrections": []}
        if self.arm is None:
            self.arm = self._lexical_arm()
        found = (self.arm.words if kind == "lexical" else self.arm.corrected)(text, depth)
        columns = {name: getattr(found.found, name) for name in COLUMNS}
        more = {"corrections": found.corrections} if kind == "fuzzy" else {}
        return {
            **columns,
            **more,
            "perfect": found.found.perfect,
            "every_word": found.every_word,
        }

    def warmed_up(self) -> tuple[float | None, bool]:
        """Return when the last list's clock began, None before, and whether the index was read."""
        return (None, False) if self.arm is None else (self.arm.ready_at, self.arm.has_read)

    def _leaf(
        self, routine: str, collection_ids: Sequence[int], text: str | None, depth: int
    ) -> dict[str, Any]:
        values = [text, collection_ids, self.filter, self.settings["language"], depth]
        row = self.db.run(_LEAF.format(routine), _LEAF_TYPES, *values)[0]
        columns = {name: value or [] for name, value in row.items() if name != "perfect_score"}
        return {**columns, "perfect": row["perfect_score"]}

    def _sound_ids(self) -> Sequence[int]:
        """Return the collections without those whose lexical index is known as damaged."""
        damaged = self.settings.get("damaged")
        if damaged is None:
            return self.all_ids
        ids: list[int] = self.db.run(_SOUND, ["bigint[]", "text[]"], self.all_ids, damaged)[0][
            "ids"
        ]
        return ids

    def _lexical_arm(self) -> Any:
        """Return the lexical arm; PB013 where the server's Python lacks numpy."""
        try:  # here, since other searches go without numpy
            from pgblend.plpy.lexical.arm import LexicalArm, Scope
            from pgblend.plpy.lexical.node import Node
        except ModuleNotFoundError as error:
            if error.name != "numpy":
                raise
            self.db.fail(
                "the server's Python has no numpy, which the lexical arm needs",
                "PB013",
                "Install it there (Debian: python3-numpy), then connect anew.",
            )
        settings = self.settings
        scope = Scope(
            collection_ids=self._sound_ids(),
            filter=self.filter,
            language=settings["language"],
            by_document=settings["level"] == "document",
            k1=settings["k1"],
            b=settings["b"],
            field_weights=(settings["title_weight"], settings["heading_weight"], 1.0),
            timeout_ms=settings["timeouts_ms"]["lexical"],
            deadline=self.deadline,
            checks_index=settings.get("lexical_index") is None,
            strict=settings["strict"],
            corrects_all=settings["fuzzy"] == "on",
        )
        return LexicalArm(self.db, Node(self.db), scope)
