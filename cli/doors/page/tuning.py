"""Weights tried on a judged set: its questions are searched once, and fused anew for each try."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, LiteralString

import numpy as np

from pgblend.cli.doors.door import Caller, Door
from pgblend.cli.measure.arm_candidates import (
    ARMS,
    FOUND,
    VECTORS,
    JudgedPool,
    found_chunks,
    found_parameters,
    is_tuned_on,
    join_pool,
    mean_ndcg,
)
from pgblend.cli.search.asked_models import RowsAsked
from pgblend.cli.search.statements import SearchRequest

_SHARE, _SEED = 0.5, 0  # half of the questions are held back, always the same
_READ_SECONDS = 0.5  # of one call; the page asks again
_AT_ONCE = 4
_KEPT_SECONDS = 600.0
_MOST_SETS = 4
_SETTINGS: LiteralString = """
    SELECT pgblend._search_settings('{}', %(profile)s::text, '{}') AS settings
"""
_QUESTIONS: LiteralString = """
    SELECT q.id, max(j.judged_at) AS judged_at
    FROM pgblend_data.judged_query AS q
    INNER JOIN pgblend_data.judgement AS j ON j.query_id = q.id
    WHERE q.set_id = CASE WHEN %(set)s::text <> ''
        THEN (pgblend._judged_set(%(set)s::text, %(collection)s::text)).id END
    GROUP BY q.id HAVING bool_or(j.grade > 0)
    ORDER BY q.id LIMIT 1000
"""
_QUESTION: LiteralString = """
    SELECT q.key, q.query, pgblend._plain_query(q.query) AS words, q.embedding::text AS embedding,
        (
            SELECT jsonb_object_agg(j.source_key, j.grade)
            FROM pgblend_data.judgement AS j WHERE j.query_id = q.id
        ) AS grades
    FROM pgblend_data.judged_query AS q WHERE q.id = %(id)s::bigint
"""
_HIDDEN: LiteralString = """
    SELECT u.id FROM unnest(%(ids)s::bigint[]) AS u (id)
    WHERE NOT EXISTS (
        SELECT FROM pgblend_data.chunk AS c
        INNER JOIN pgblend_data.collection AS o ON o.id = c.collection_id
        WHERE c.id = u.id AND o.parent_id IS NULL)
"""
_VECTOR: LiteralString = """
    SELECT e.embedding::text FROM unnest(blend.embed_text(ARRAY[%(words)s::text])) AS e (embedding)
"""
Settings = Mapping[str, Any]
SetName = tuple[str, str | None]  # and its collection, where several have a set of the name
Question = tuple[int, datetime]  # its number, and when it was last judged


@dataclass
class _Kept:
    """The candidates of a set's questions, as a caller may see them."""

    pools: dict[Question, JudgedPool] = field(default_factory=dict)
    used: float = 0.0


class Tuner:
    """Keeps questions' candidates for some minutes, for each caller apart."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, SetName, int, bool], _Kept] = {}

    async def tune(self, door: Door, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
        """Say what nDCG@10 weights give, as far as the questions are read; call again for more."""
        name = given["judged_set"], given.get("collection")
        (plan,), rows = await door.run(
            caller,
            RowsAsked(_SETTINGS, {"profile": given.get("profile")}),
            RowsAsked(_QUESTIONS, {"set": name[0], "collection": name[1]}),
        )
        settings = plan["settings"]
        asked = [(row["id"], row["judged_at"]) for row in rows]
        kept = self._of(caller.token, name, settings)
        await _forget_hidden(door, caller, kept)
        await _read(door, caller, name, settings, asked, kept)
        pools = [kept.pools[question] for question in asked if question in kept.pools]
        tried = settings | {"weights": settings["weights"] | given["weights"]}
        halves = await asyncio.to_thread(_halves, pools, settings, tried)
        return {
            "weights": {arm: settings["weights"][arm] for arm in ARMS},
            "questions": len(asked),
            "read": len(pools),
            "halves": halves,
            "degraded": [],
        }

    def _of(self, token: str, name: SetName, settings: Settings) -> _Kept:
        """Return what is kept for a caller; what nobody used for long is dropped."""
        now = time.monotonic()
        fresh = {key: one for key, one in self._kept.items() if now - one.used < _KEPT_SECONDS}
        newest = sorted(fresh, key=lambda key: fresh[key].used)[-_MOST_SETS:]
        self._kept = {key: fresh[key] for key in newest}
        key = (token, name, int(settings["candidate_depth"]), _needs_vectors(settings))
        kept = self._kept.setdefault(key, _Kept())
        kept.used = now
        return kept


async def _forget_hidden(door: Door, caller: Caller, kept: _Kept) -> None:
    """Forget the questions of which a passage is gone, or is for some readers alone since."""
    ids = {chunk_id for pool in kept.pools.values() for chunk_id in pool.source_keys}
    if not ids:
        return
    (rows,) = await door.run(caller, RowsAsked(_HIDDEN, {"ids": [*ids]}))
    hidden = {row["id"] for row in rows}
    for question, pool in [*kept.pools.items()]:  # another call may read more meanwhile
        if not hidden.isdisjoint(pool.source_keys):
            del kept.pools[question]


async def _read(
    door: Door,
    caller: Caller,
    name: SetName,
    settings: Settings,
    asked: Sequence[Question],
    kept: _Kept,
) -> None:
    """Search questions that are not kept yet, for half a second."""
    end = time.monotonic() + _READ_SECONDS
    unread = [question for question in asked if question not in kept.pools]
    for start in range(0, len(unread), _AT_ONCE):
        batch = unread[start : start + _AT_ONCE]
        pools = [_pool(door, caller, name, settings, question) for question in batch]
        kept.pools.update(zip(batch, await asyncio.gather(*pools), strict=True))
        if time.monotonic() > end:
            return


async def _pool(
    door: Door, caller: Caller, name: SetName, settings: Settings, question: Question
) -> JudgedPool:
    """Search one question by each arm alone; the model gives a vector that is not there."""
    ((query,),) = await door.run(caller, RowsAsked(_QUESTION, {"id": question[0]}))
    if query["embedding"] is None:
        request = SearchRequest(query["words"], 10, None, None, {"strict": True})
        asked = await door.ask_models(caller, request, None, stages=())
        query["embedding"] = asked.request.query_embedding
    if query["embedding"] is None:  # the gateway is closed to this process
        ((row,),) = await door.run(caller, RowsAsked(_VECTOR, query))
        query |= row
    parameters = [found_parameters(name[0], arm, settings, query, name[1]) for arm in ARMS]
    rows = await door.run(caller, *(RowsAsked(FOUND, each) for each in parameters))
    found = dict(zip(ARMS, rows, strict=True))
    vectors = {}
    if _needs_vectors(settings):
        (stored,) = await door.run(caller, RowsAsked(VECTORS, {"ids": found_chunks(found)}))
        vectors = {row["chunk_id"]: _vector(str(row["embedding"])) for row in stored}
    return join_pool(query | {"embedding": _vector(query["embedding"])}, found, vectors)


def _needs_vectors(settings: Settings) -> bool:
    """Tell whether fusion moves the query's vector; elsewhere they would fill the memory."""
    return bool(settings["feedback"]["passages"] > 0)


def _vector(text: str) -> Any:
    return np.array(json.loads(text), dtype=np.float64)


def _halves(pools: Sequence[JudgedPool], before: Settings, tried: Settings) -> list[dict[str, Any]]:
    """Return the means of both halves, under the settings in force and under those tried."""
    halves = []
    for held_back in (False, True):
        half = [pool for pool in pools if is_tuned_on(pool.key, _SHARE, _SEED) is not held_back]
        means = (
            {"ndcg": None, "before": None}
            if not half
            else {
                "ndcg": mean_ndcg(half, tried),
                "before": mean_ndcg(half, before),
            }
        )
        halves.append({"held_back": held_back, "questions": len(half), **means})
    return halves
