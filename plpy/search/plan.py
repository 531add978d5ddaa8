"""What a search is to do: what was asked, its settings, how deep it looks and until when."""

import json
from collections.abc import Hashable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from time import monotonic, time
from typing import Any

from pgblend.plpy.session import Database, keep_value

Parsed = tuple[Mapping[str, Any], dict[int, str]]
MOST_SETTINGS = 50
LONGEST = 8000


def parsed_settings(kept: MutableMapping[Hashable, Parsed], text: str) -> Parsed:
    """Return the object that a JSON text stands for, and a place to keep what is made of it.

    Nobody may change the object. `kept` is where the session keeps fifty at most, and none of a
    long text (scores, vectors).
    """
    parsed = kept.get(text)
    if parsed is None:
        parsed = json.loads(text), {}
        if len(text) <= LONGEST:
            keep_value(kept, text, parsed, MOST_SETTINGS)
    return parsed


READ_BY_ARMS = ("language", "ef_search", "vector_scan", "rescore_factor")
MOST_DEPTHS = 10


def arm_settings(kept: MutableMapping[int, str], settings: Mapping[str, Any], depth: int) -> str:
    """Return as JSON what the vector arm reads of the settings, to find `depth` candidates.

    It parses them, so the rest is left out. `kept` has the texts for these settings by depth.
    """
    text = kept.get(depth)
    if text is None:
        read = {name: settings[name] for name in READ_BY_ARMS if name in settings}
        text = keep_value(kept, depth, json.dumps({**read, "candidate_depth": depth}), MOST_DEPTHS)
    return text


def arm_depth(
    over_fetch: Mapping[str, float],
    candidate_depth: int,
    wanted: int,
    reranked: bool,
    variant: bool,
) -> int:
    """Return candidate_depth, or, by a literal profile's rule, a multiple of the rows wanted.

    With a `factor` above 0 in `over_fetch` it is max(minimum, factor · wanted) (S1: 2; S3: 2 and
    minimum 20). `variant_factor` holds for the lists of an expanded query (S1: 1) and
    `rerank_factor` where a reranker follows (S2: 3), each where it is given. `wanted` is offset +
    limit: only these profiles depend on it. At least 1, at most 10,000.
    """
    factor = over_fetch.get("factor", 0)
    if factor == 0:
        return candidate_depth
    if variant:
        factor = over_fetch.get("variant_factor", factor)
    elif reranked:
        factor = over_fetch.get("rerank_factor", factor)
    return int(min(max(over_fetch.get("minimum", 1), factor * wanted, 1), 10_000))


@dataclass(frozen=True)
class Request:
    """What _rank_passages is called with; JSON and vectors are texts, times seconds since 1970.

    `traced` is none, page, pool or rerank.
    """

    query: str
    result_limit: int
    query_embedding: str | None
    space: str | None
    collection_ids: Sequence[int]
    filter: str | None
    settings: str
    started_at: float
    traced: str


@dataclass(frozen=True)
class Plan:
    """A search's settings in force, and what follows from them.

    `depth` and `depth_of_variants` are how many candidates an arm, and a list of an expanded query,
    is asked for; `wanted` is offset + limit; `deadline` is on the monotonic clock.
    """

    settings: Mapping[str, Any]
    arm_texts: MutableMapping[int, str]
    wanted: int
    depth: int
    depth_of_variants: int
    deadline: float

    def depth_of(self, is_variant: bool) -> int:
        """Return how many candidates a list is asked for."""
        return self.depth_of_variants if is_variant else self.depth

    def for_arm(self, is_variant: bool) -> str:
        """Return as JSON what the vector arm reads of the settings."""
        return arm_settings(self.arm_texts, self.settings, self.depth_of(is_variant))


def search_plan(db: Database, request: Request) -> Plan:
    """Read a request's settings; 22023 where the option after is not whole."""
    parsed, arm_texts = parsed_settings(db.kept("settings"), request.settings)
    traced = request.traced != "none" and request.traced
    settings = {**parsed, "space": request.space, "traced": traced, "filter": request.filter}
    after = settings["after"]
    if after and not after.keys() >= {"score", "document_id", "chunk_index"}:
        db.fail(
            f'options: "after" is {json.dumps(after)}: expected score, document_id and chunk_index',
            "22023",
            "Take details -> 'cursor' of the last row of the page before.",
        )
    wanted = settings["offset"] + request.result_limit
    depth_of_variants, depth = (
        arm_depth(
            settings["over_fetch"],
            settings["candidate_depth"],
            wanted,
            settings["stages"]["rerank"],
            is_variant,
        )
        for is_variant in (True, False)
    )
    seconds = request.started_at - time() + settings["timeouts_ms"]["total"] / 1000
    return Plan(settings, arm_texts, wanted, depth, depth_of_variants, monotonic() + seconds)
