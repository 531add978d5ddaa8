"""What a session keeps of the database for as long as nobody writes to it.

Who may read many compartments reads a row for each of them in several statements of a search. Their
rows are kept with the proof of what may be read (migrations/tables/90_row_security.sql). The proof
counts under its own snapshot alone. So while it counts, the same statements have the same rows.
After a commit that changed no collection and no right, the proof is renewed, and rows of
collections stay. So do those of lexical indexes' tables that did not change.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pgblend.plpy.base.session import Database, Rows, keep_value

MANY = 64
"""Collections: rows of fewer are found again as fast as they are proved unchanged."""

_MOST_ASKERS, _MOST_ROWS = 20, 20
_ASKER = "concat_ws(' ', current_user, left(current_setting('pgblend.groups', true), 64))"
_IS_WHOLE = "current_setting('pgblend.common_only', true) IS DISTINCT FROM 'on'"
# Notes the search as well, which the statement does whose rows are kept (plpy/search/plan.py).
_HOLDS = f"""
    WITH given AS MATERIALIZED (
        SELECT {_ASKER} AS asker,
            set_config('pgblend.readable', coalesce(
                $2[array_position($1, {_ASKER})], ''), true) AS proof,
            set_config('pgblend.lasting', coalesce(
                $3[array_position($1, {_ASKER})], ''), true) AS lasting,
            set_config('pgblend.last_search', $4, true) AS search
    )

    SELECT g.asker, g.proof <> '' AND {_IS_WHOLE} AS is_kept, {_IS_WHOLE} AND EXISTS (
        SELECT FROM pgblend_data.readable_words AS w
        WHERE g.proof <> '' AND g.lasting <> '' AND g.search <> '' AND w.words IS NOT NULL OFFSET 0
    ) AS holds
    FROM given AS g
"""
_RENEWED = """
    SELECT set_config('pgblend.readable', r.proof, true) AS proof, r.index_tables
    FROM pgblend_data.renewed_proof AS r
"""
# In a transaction that wrote, or keeps its snapshot, a proof counts for its statement alone.
_LASTING = f"""
    SELECT {_ASKER} AS asker, current_setting('pgblend.readable', true) AS proof, l.proof AS lasting
    FROM pgblend_data.lasting_proof AS l
    WHERE {_IS_WHOLE}
"""


Of = Literal["rows", "collections", "estimate", "segment", "pending", "tombstone"]
"""Of anything, of collections, what may be out of date, or of one table of the lexical index."""


class KeyList(list[Any]):
    """A list that nobody changes, as a key: its hash is reckoned once.

    A search looks a dozen times for what it keeps of many collections, by their ids. The same list
    is found without a look at these.
    """

    _hash: int | None = None

    def __hash__(self) -> int:  # type: ignore[override]
        if self._hash is None:
            self._hash = hash(tuple(self))
        return self._hash


def as_key(values: Sequence[Any]) -> KeyList:
    """Return values as a key, themselves where they are one."""
    return values if isinstance(values, KeyList) else KeyList(values)


@dataclass(slots=True)
class Unchanged:
    """The rows of statements for one role and set of groups, by what they are read of.

    By statement and values. `lasting` proves that all but "rows" count for later snapshots too.
    `lists` has of equal lists one, so that the next look for it compares none.
    """

    proof: str
    lasting: str
    rows: dict[Of, dict[Hashable, Rows]] = field(default_factory=dict)
    lists: dict[KeyList, KeyList] = field(default_factory=dict)

    def same(self, value: Any) -> Any:
        """Return a value, of a list the one that is kept."""
        if not isinstance(value, list):
            return value
        key = as_key(value)
        if key not in self.lists:
            keep_value(self.lists, key, key, _MOST_ROWS)
        return self.lists[key]


def begin_unchanged(db: Database, search: str) -> None:
    """Have a search use what is kept for who asks, where nothing changed; else forget it."""
    kept: dict[str, Unchanged] = db.kept("unchanged")
    if not kept:
        return
    proofs = [one.proof for one in kept.values()]
    lasting = [one.lasting for one in kept.values()]
    types = ["text[]", "text[]", "text[]", "text"]
    (row,) = db.run(_HOLDS, types, [*kept], proofs, lasting, search)
    if not row["holds"] and row["is_kept"]:
        renew_unchanged(db, kept, row["asker"])
    if row["is_kept"] and row["asker"] in kept:
        db.kept("unchanged_now")["kept"] = kept[row["asker"]]


def renew_unchanged(db: Database, kept: dict[str, Unchanged], asker: str) -> None:
    """Keep of who asks what still counts, by a proof for the snapshot in force, if anything."""
    one = kept.pop(asker)
    for row in db.run(_RENEWED, []):
        gone = {"rows", *row["index_tables"]}
        still = {of: rows for of, rows in one.rows.items() if of not in gone}
        if not row["index_tables"]:
            kept[asker] = Unchanged(row["proof"], one.lasting, still)
            continue
        for new in db.run(_LASTING, []):  # of this snapshot, for what is read now
            kept[asker] = Unchanged(new["proof"], new["lasting"], still)


def keep_unchanged(db: Database) -> None:
    """Keep what the rest of a search reads by run_unchanged, if its proof is a lasting one."""
    for row in () if is_unchanged(db) else db.run(_LASTING, []):
        one = Unchanged(row["proof"], row["lasting"])
        keep_value(db.kept("unchanged"), row["asker"], one, _MOST_ASKERS)
        db.kept("unchanged_now")["kept"] = one


def end_unchanged(db: Database) -> None:
    """Have nothing that is kept used until the next search has it proved."""
    db.kept("unchanged_now").clear()


def is_unchanged(db: Database) -> bool:
    """Tell whether the search under way uses what is kept."""
    return "kept" in db.kept("unchanged_now")


def run_unchanged(
    db: Database,
    statement: str,
    types: list[str],
    *values: object,
    before: str | None = None,
    of: Of = "rows",
) -> Rows:
    """Return the rows of a statement that reads alone, as kept where the search uses that.

    Where they are not kept, the statement `before` runs first. But for "rows" and "estimate", a
    statement reads what _note_collection_change notes, and nothing else. Lists are as_key.
    """
    kept: Unchanged | None = db.kept("unchanged_now").get("kept")
    if kept is None:
        return _run(db, statement, types, values, before)
    rows = kept.rows.setdefault(of, {})
    key = statement, *map(kept.same, values)
    if key not in rows:
        found = _run(db, statement, types, values, before)
        of_lists = [{name: kept.same(value) for name, value in row.items()} for row in found]
        keep_value(rows, key, of_lists, _MOST_ROWS)
    return rows[key]


def _run(
    db: Database, statement: str, types: list[str], values: tuple[object, ...], before: str | None
) -> Rows:
    if before is not None:
        db.run(before, [])
    return db.run(statement, types, *values)
