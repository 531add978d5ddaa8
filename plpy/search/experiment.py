"""Two profiles on one live search: their lists are interleaved, and each row says whose it is."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import shake_256
from typing import NamedTuple

from pgblend.plpy.base.catalog import Cursor
from pgblend.plpy.base.session import Json, UserError
from pgblend.plpy.base.settings import read_json, write_json
from pgblend.plpy.search.page import page_end, page_of, page_start
from pgblend.plpy.search.plan import check_cursor
from pgblend.plpy.search.rows import Found, Ranked, page_rows
from pgblend.plpy.search.stages import Search

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


class Candidate(NamedTuple):
    """A row that may be shown."""

    chunk_id: int
    document_id: int
    chunk_index: int


def read_experiment(search: Search) -> Experiment | None:
    """Return the experiment that a search takes part in; None where it takes part in none.

    Searches by one arm, searches of evaluations and what counts a whole pool take part in none.
    """
    request, state = search.request, search.state
    if request.only_arm is not None or request.traced == "pool" or not state.collection_ids:
        return None
    values = min(int(search.experiment or 0), 2**63 - 1), state.profile
    rows = search.db.run(_READ, ["bigint", "text"], *values)
    return Experiment(**rows[0]) if rows else None


def draft(
    lists: Sequence[Sequence[Candidate]],
    coins: Iterable[bool],
    most: int,
    same: Mapping[int, int],
    per_document: int | None,
) -> list[tuple[Candidate, int | None]]:
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

    def choose(team: int) -> Candidate | None:
        for candidate in waiting[team]:
            key, document_id = same.get(candidate[0], candidate[0]), candidate.document_id
            count = of_documents.get(document_id, 0)
            if key not in seen and (per_document is None or count < per_document):
                seen.add(key)
                of_documents[document_id] = count + 1
                return candidate
        return None

    drafted: list[tuple[Candidate, int | None]] = []
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


def interleaved(
    search: Search, experiment: Experiment, ordered: Callable[[Search], Ranked]
) -> Found:
    """Return a page of both profiles' lists; `ordered` ranks all candidates of a search."""
    check_cursor(search.plan.settings.after)
    sides = both_sides(search, experiment, ordered)
    (control, ranked), (rival, of_rival) = sides
    notes = [*control.degraded, *(one for one in rival.degraded if one not in control.degraded)]
    search.stages, search.tries, search.space = control.stages, control.tries, control.space
    search.degraded = control.degraded = rival.degraded = notes
    drafted = drafted_lists(search, experiment, sides)
    start = start_in(search, drafted)
    page = drafted[start : page_end(search, start)]
    founds = [side_found(*side, page, team) for team, side in enumerate(sides)]
    teams = [[experiment.profile], [experiment.rival]]
    told: dict[int, dict[str, Json]] = {
        candidate.chunk_id: {
            "experiment": experiment.id,
            "profiles": teams[0] + teams[1] if team is None else teams[team],
        }
        for candidate, team in page
    }
    cursor = {
        "depth": control.settings.candidate_depth,
        "experiment": experiment.id,
        "rival_depth": rival.settings.candidate_depth,
    }
    shown = {row.chunk_id: row for found in founds for row in found.rows}
    rows = []
    for rank, (candidate, _) in enumerate(page, start + 1):
        row = shown.get(candidate.chunk_id)
        if row is not None:
            details = json.loads(row.details)
            details |= told[row.chunk_id] | {"cursor": details["cursor"] | cursor}
            rows.append(row._replace(rank=rank, details=json.dumps(details)))
    control.done("fetch", len(rows))
    return Found(
        ranked.pool,
        founds[0].page,
        ranked.ranking,
        ranked.stored,
        rows,
        len({*ranked.pool.fused.chunk_ids, *of_rival.pool.fused.chunk_ids})
        if control.had_time and rival.had_time
        else None,
        experiment={
            "id": experiment.id,
            "profile": experiment.profile,
            "rival": experiment.rival,
        },
        sides=[(side, found) for (side, _), found in zip(sides, founds, strict=True)],
        drafted=told,
    )


def both_sides(
    search: Search, experiment: Experiment, ordered: Callable[[Search], Ranked]
) -> list[tuple[Search, Ranked]]:
    """Return the searches by both profiles, from their first rows on; the first in full.

    The query is embedded once, and what the first could not have, the second does not ask for.
    """
    settings, options = search.plan.settings, search.request.options
    rows = search.depth() if settings.after else search.wanted
    control = search.under(experiment.settings, options, rows)
    control.begin()
    ranked = ordered(control)
    rival = control.under(experiment.rival_settings, rival_options(options, settings.after), rows)
    has_looked = control.settings.weights["vector"] > 0
    vector = ranked.gathered.vector
    if not has_looked:
        rival.begin()
    elif vector is None:
        rival.space = None
    elif not control.plan.expands:
        rival.request = rival.request._replace(query_embedding=vector)
    return [(control, ranked), (rival, ordered(rival))]


def rival_options(options: str | None, after: Cursor) -> str | None:
    """Return the options of the search by the rival: its depth holds for all pages as well."""
    if not after:
        return options
    depth = after.get("rival_depth")
    of_rival = {"after": {"depth": depth} if depth else {}}
    return write_json({**read_json(options or "{}"), **of_rival})


def drafted_lists(
    search: Search, experiment: Experiment, sides: Sequence[tuple[Search, Ranked]]
) -> list[tuple[Candidate, int | None]]:
    """Return both lists interleaved, as far as a page may reach."""
    (control, ranked), (_, of_rival) = sides
    lists = [candidates(one, one.ranking.best) for one in (ranked, of_rival)]
    same: dict[int, int] = {}
    for one in (ranked, of_rival):
        ids = one.pool.fused.chunk_ids
        for item, why in one.ranking.dropped.items():
            kept = why.get("duplicate_of") if why.get("reason") != "per_document" else None
            if isinstance(kept, int) and kept not in same:
                same.setdefault(ids[item], kept)
    settings = control.settings
    per_document = 1 if settings.level == "document" else settings.per_document
    rows = control.request.result_limit
    coins = coins_of(experiment, search.request.query or "", rows)
    return draft(lists, coins, rows, same, per_document)


def candidates(ranked: Ranked, items: Sequence[int]) -> list[Candidate]:
    """Return items as rows that may be shown."""
    fused = ranked.pool.fused
    columns = fused.chunk_ids, fused.document_ids, fused.chunk_indexes
    return [Candidate(*(column[item] for column in columns)) for item in items]


def start_in(search: Search, drafted: Sequence[tuple[Candidate, int | None]]) -> int:
    """Return where the page begins in the interleaved list."""
    settings = search.plan.settings
    keys = [(float(-place), *candidate[1:]) for place, (candidate, _) in enumerate(drafted)]
    after = settings.after
    key = after and (after["document_id"], after["chunk_index"])
    if after and key not in {one[1:] for one in keys}:
        raise UserError(
            "the row of the option after is no longer found",
            "Begin again without after, or use offset.",
        )
    return (page_start(keys, after) or 0) + settings.offset


def side_found(
    search: Search,
    ranked: Ranked,
    page: Sequence[tuple[Candidate, int | None]],
    team: int,
) -> Found:
    """Return the rows of a page that a side gives; what both begin with is the first's."""
    _, stored, pool, ranking, *_ = ranked
    item_of = dict(zip(pool.fused.ids(ranking.best), ranking.best, strict=True))
    items = [item_of[one.chunk_id] for one, of_team in page if (of_team or 0) == team]
    cut = page_of(search, pool, ranking, stored, 0, items)
    rows = page_rows(search, ranked, cut)
    return Found(pool, cut, ranking, stored, rows)
