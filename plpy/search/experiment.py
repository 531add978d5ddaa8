"""Two profiles on one live search: their lists are interleaved, and each row says whose it is."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import shake_256
from typing import NamedTuple

from pgblend.plpy.base.catalog import Cursor
from pgblend.plpy.base.session import Json, ProgramError
from pgblend.plpy.base.settings import read_json, write_json
from pgblend.plpy.search.arms import begin
from pgblend.plpy.search.page import page_end, page_start, with_page
from pgblend.plpy.search.plan import check_cursor
from pgblend.plpy.search.pool import Draft, Pool, Side
from pgblend.plpy.search.query import Log, Query
from pgblend.plpy.search.rows import page_rows
from pgblend.plpy.search.run import ranked
from pgblend.plpy.search.store import StorePort

# Evaluations measure one profile at a time.
_READ = """
SELECT
    e.id, e.profile, e.rival, e.settings::text AS settings,
    e.rival_settings::text AS rival_settings, pgblend._asking_role()::text AS role
FROM pgblend_data.experiment AS e
WHERE
    e.id = $1 AND e.profile = $2
    AND coalesce(nullif(current_setting('pgblend.purpose', true), ''), 'search') = 'search'
"""


class Experiment(NamedTuple):
    """A profile and its rival, their settings (JSON) when it began, and who searches."""

    id: int
    profile: str
    rival: str
    settings: str
    rival_settings: str
    role: str


class DraftRow(NamedTuple):
    """A row that may be shown."""

    chunk_id: int
    document_id: int
    chunk_index: int


def read_experiment(query: Query, log: Log) -> Experiment | None:
    """Return the experiment that a search takes part in; None where it takes part in none.

    Searches by one arm, searches of evaluations and what counts a whole pool take part in none.
    """
    request, state = query.request, query.state
    if request.only_arm is not None or request.traced == "pool" or not state.collection_ids:
        return None
    values = min(int(query.experiment or 0), 2**63 - 1), state.profile
    rows = log.db.run(_READ, ["bigint", "text"], *values)
    return Experiment(**rows[0]) if rows else None


def draft(
    lists: Sequence[Sequence[DraftRow]],
    coins: Iterable[bool],
    most: int,
    same: Mapping[int, int],
    per_document: int | None,
) -> list[tuple[DraftRow, int | None]]:
    """Return the first `most` candidates of two lists interleaved, each with its team: 0 or 1.

    Team-draft interleaving (Radlinski, Kurup and Joachims 2008): in each round a coin says which
    team chooses its best candidate that is left first (true: the second). What both lists begin
    with alike is of no team, None, since a click there tells nothing (Chapelle, Joachims, Radlinski
    and Yue 2012). `same` has the chunk id of the passage that another one repeats; a document gives
    at most `per_document` rows.
    """
    seen: set[int] = set()
    of_documents: dict[int, int] = {}
    waiting = [iter(one) for one in lists]

    def choose(team: int) -> DraftRow | None:
        for candidate in waiting[team]:
            key, document_id = same.get(candidate[0], candidate[0]), candidate.document_id
            count = of_documents.get(document_id, 0)
            if key not in seen and (per_document is None or count < per_document):
                seen.add(key)
                of_documents[document_id] = count + 1
                return candidate
        return None

    drafted: list[tuple[DraftRow, int | None]] = []
    for one, other in zip(*lists, strict=False):
        candidate = choose(0) if one == other else None
        if candidate is None:
            break
        drafted.append((candidate, None))
    for coin in coins:
        chosen = [(choose(team), team) for team in (int(coin), 1 - coin)]
        found = [(candidate, team) for candidate, team in chosen if candidate is not None]
        drafted += found
        if not found or len(drafted) >= most:
            break
    return drafted[:most]


def coins_of(experiment: Experiment, query: str, most: int) -> Iterable[bool]:
    """Return so many coins, always the same for what a role asks, so that its pages hold."""
    asked = f"{experiment.id}\n{experiment.role}\n{query}".encode("utf-8", "replace")
    thrown = shake_256(asked).digest(most // 8 + 1)
    return (bool(thrown[place >> 3] >> (place & 7) & 1) for place in range(most))


def interleaved(query: Query, experiment: Experiment, store: StorePort, log: Log) -> Pool:
    """Return a page of both profiles' lists."""
    check_cursor(query.settings.after)
    sides = control, rival = both_sides(query, experiment, store, log)
    notes = control.log.degraded
    notes += [one for one in rival.log.degraded if one not in notes]
    rival.log.degraded = notes
    log.stages, log.tries, log.degraded = control.log.stages, control.log.tries, notes
    drafted = drafted_lists(query, experiment, sides)
    start = start_in(query, drafted)
    page = drafted[start : page_end(query, start, log)]
    shown = [with_rows(side, page, team, store) for team, side in enumerate(sides)]
    teams = [[experiment.profile], [experiment.rival]]
    told: dict[int, dict[str, Json]] = {
        candidate.chunk_id: {
            "experiment": experiment.id,
            "profiles": teams[0] + teams[1] if team is None else teams[team],
        }
        for candidate, team in page
    }
    cursor = {
        "depth": control.query.settings.candidate_depth,
        "experiment": experiment.id,
        "rival_depth": rival.query.settings.candidate_depth,
    }
    row_of = {row.chunk_id: row for side in shown for row in side.pool.rows}
    rows = []
    for rank, (candidate, _) in enumerate(page, start + 1):
        row = row_of.get(candidate.chunk_id)
        if row is not None:
            details = json.loads(row.details)
            details |= told[row.chunk_id] | {"cursor": details["cursor"] | cursor}
            rows.append(row._replace(rank=rank, details=json.dumps(details)))
    control.log.done("fetch", len(rows))
    has_all = control.log.had_time and rival.log.had_time
    ids = {chunk_id for side in sides for chunk_id in side.pool.fused.chunk_ids}
    found = len(ids) if has_all else None
    named: dict[str, Json] = {
        "id": experiment.id,
        "profile": experiment.profile,
        "rival": experiment.rival,
    }
    return shown[0].pool._replace(rows=rows, found=found, draft=Draft(named, shown, told))


def both_sides(
    query: Query, experiment: Experiment, store: StorePort, log: Log
) -> tuple[Side, Side]:
    """Return the searches by both profiles, from their first rows on; the first in full.

    The query is embedded once, and what the first could not have, the second does not ask for.
    """
    settings, options = query.settings, query.request.options
    rows = query.depth() if settings.after else query.wanted
    own = query.under(log.db, experiment.settings, options, rows)
    own_log = log.beside(own.plan)
    own = begin(own, store, own_log)
    control = Side(own, ranked(own, store, own_log), own_log)
    of_rival = rival_options(options, settings.after)
    other = own.under(log.db, experiment.rival_settings, of_rival, rows)
    other_log = own_log.beside(other.plan)
    has_looked = own.settings.weights["vector"] > 0
    vector = control.pool.stored.vector
    if not has_looked:
        other = begin(other, store, other_log)
    elif vector is None:
        other = replace(other, space=None)
    elif not own.plan.expands:
        other = replace(other, request=other.request._replace(query_embedding=vector))
    return control, Side(other, ranked(other, store, other_log), other_log)


def rival_options(options: str | None, after: Cursor) -> str | None:
    """Return the options of the search by the rival: its depth holds for all pages as well."""
    if not after:
        return options
    depth = after.get("rival_depth")
    of_rival = {"after": {"depth": depth} if depth else {}}
    return write_json({**read_json(options or "{}"), **of_rival})


def drafted_lists(
    query: Query, experiment: Experiment, sides: Sequence[Side]
) -> list[tuple[DraftRow, int | None]]:
    """Return both lists interleaved, as far as a page may reach."""
    lists = [candidates(one.pool) for one in sides]
    same: dict[int, int] = {}
    for one in sides:
        ids = one.pool.fused.chunk_ids
        for item, why in one.pool.ranking.dropped.items():
            kept = why.get("duplicate_of") if why.get("reason") != "per_document" else None
            if isinstance(kept, int) and kept not in same:
                same.setdefault(ids[item], kept)
    settings, rows = sides[0].query.settings, sides[0].query.request.result_limit
    per_document = 1 if settings.level == "document" else settings.per_document
    coins = coins_of(experiment, query.text, rows)
    return draft(lists, coins, rows, same, per_document)


def candidates(pool: Pool) -> list[DraftRow]:
    """Return the best items as rows that may be shown."""
    fused = pool.fused
    columns = fused.chunk_ids, fused.document_ids, fused.chunk_indexes
    return [DraftRow(*(column[item] for column in columns)) for item in pool.ranking.best]


def start_in(query: Query, drafted: Sequence[tuple[DraftRow, int | None]]) -> int:
    """Return where the page begins in the interleaved list."""
    settings = query.settings
    keys = [(float(-place), *candidate[1:]) for place, (candidate, _) in enumerate(drafted)]
    after = settings.after
    key = after and (after["document_id"], after["chunk_index"])
    if after and key not in {one[1:] for one in keys}:
        raise ProgramError(
            "the row of the option after is no longer found",
            "Begin again without after, or use offset.",
        )
    return (page_start(keys, after) or 0) + settings.offset


def with_rows(
    side: Side, page: Sequence[tuple[DraftRow, int | None]], team: int, store: StorePort
) -> Side:
    """Return a side with its rows of a page; what both begin with is the first's."""
    query, pool, log = side
    best = pool.ranking.best
    item_of = dict(zip(pool.fused.ids(best), best, strict=True))
    items = [item_of[one.chunk_id] for one, of_team in page if (of_team or 0) == team]
    pool = with_page(pool, 0, items, log)
    return Side(query, pool._replace(rows=page_rows(query, pool, store, log)), log)
