"""What a session keeps of the database for as long as nobody writes to it.

Who may read many compartments reads a row for each of them in several statements of a search. Their
rows are kept with the proof of what may be read (migrations/tables/90_row_security.sql). The proof
counts under its own snapshot alone. So while it counts, the same statements have the same rows.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field

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
            set_config('pgblend.last_search', $3, true) AS search
    )

    SELECT g.asker, g.proof <> '' AS is_kept, {_IS_WHOLE} AND EXISTS (
        SELECT FROM pgblend_data.readable_words AS w
        WHERE g.proof <> '' AND g.search <> '' AND w.words IS NOT NULL OFFSET 0) AS holds
    FROM given AS g
"""
# In a transaction that wrote, or keeps its snapshot, a proof counts for its statement alone.
_LASTING = f"""
    SELECT {_ASKER} AS asker, current_setting('pgblend.readable', true) AS proof
    WHERE current_setting('transaction_isolation') = 'read committed'
        AND pg_current_xact_id_if_assigned() IS NULL
        AND current_setting('pgblend.readable', true) <> '' AND {_IS_WHOLE}
"""


@dataclass(slots=True)
class Unchanged:
    """The rows of statements for one role and set of groups, by statement and values."""

    proof: str
    rows: dict[Hashable, Rows] = field(default_factory=dict)


def begin_unchanged(db: Database, search: str) -> None:
    """Have a search use what is kept for who asks, where nothing changed; else forget all."""
    kept: dict[str, Unchanged] = db.kept("unchanged")
    if not kept:
        return
    proofs = [one.proof for one in kept.values()]
    (row,) = db.run(_HOLDS, ["text[]", "text[]", "text"], [*kept], proofs, search)
    if row["holds"]:
        db.kept("unchanged_now")["rows"] = kept[row["asker"]].rows
    elif row["is_kept"]:
        kept.clear()


def keep_unchanged(db: Database) -> None:
    """Keep what the rest of a search reads by run_unchanged, if its proof is a lasting one."""
    for row in () if is_unchanged(db) else db.run(_LASTING, []):
        one = keep_value(db.kept("unchanged"), row["asker"], Unchanged(row["proof"]), _MOST_ASKERS)
        db.kept("unchanged_now")["rows"] = one.rows


def end_unchanged(db: Database) -> None:
    """Have nothing that is kept used until the next search has it proved."""
    db.kept("unchanged_now").clear()


def is_unchanged(db: Database) -> bool:
    """Tell whether the search under way uses what is kept."""
    return "rows" in db.kept("unchanged_now")


def run_unchanged(
    db: Database, statement: str, types: list[str], *values: object, before: str | None = None
) -> Rows:
    """Return the rows of a statement that reads alone, as kept where the search uses that.

    Where they are not kept, the statement `before` runs first.
    """
    rows: dict[Hashable, Rows] = db.kept("unchanged_now").get("rows", {})
    key = statement, *(tuple(value) if isinstance(value, list) else value for value in values)
    if key not in rows:
        if before is not None:
            db.run(before, [])
        keep_value(rows, key, db.run(statement, types, *values), _MOST_ROWS)
    return rows[key]
