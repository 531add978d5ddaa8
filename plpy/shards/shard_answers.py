"""What a shard answers: calls of its own store, all under one snapshot and by the caller's rights.

A trip is {"wire": its form, "left_ms": milliseconds that the search has, "version": that of the
coordinator's front, "calls": [[name, argument, …], …]}; a shard may have further calls. Its answer
is a list of {"value": …} or {"error": [SQLSTATE, message, hint, table]}, one for each call; or a
text: why there is none.
Nothing in a trip is trusted: whoever may search can write one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.base.ports import (
    AgesRequest,
    CandidateList,
    CosinesRequest,
    CountRequest,
    DistancesRequest,
    Held,
    HoldersRequest,
    KnownRequest,
    LanguagesRequest,
    ListRequest,
    LiteralRequest,
    NamesRequest,
    NeighboursRequest,
    NodesRequest,
    Passage,
    PassagesRequest,
    PassingRequest,
    SimilarRequest,
    Space,
    VectorRequest,
    VectorsRequest,
)
from pgblend.plpy.base.session import (
    CANCELLED,
    Database,
    ProgramError,
    error_fields,
    error_message,
    error_state,
)
from pgblend.plpy.lexical.configuration import Meaning, config_version
from pgblend.plpy.lexical.own_index import Node
from pgblend.plpy.lexical.snippets import Sought
from pgblend.plpy.search.node import StoreNode
from pgblend.plpy.search.plan import read_state
from pgblend.plpy.search.store import made_snippets
from pgblend.plpy.shards.merged_answers import ROUTINES, VIEWS
from pgblend.plpy.shards.wire import WIRE, Step, built, packed, packed_list

_SELF = "SELECT s.front_version AS version FROM pgblend_data.shard_self AS s"
_LACKS = "it lacks the last changes of settings, grants or collections: pgblend shards push"
_OLDER = "its revision is older than the coordinator's: pgblend migrate up there"
_CONFIGURATIONS = """
    SELECT coalesce(array_agg(DISTINCT l.text_search_config), '{}') AS configs
    FROM pgblend_data.collection_language AS l WHERE l.collection_id = ANY($1)"""
_HASHES = """
    SELECT c.id, ('x' || left(c.content_hash, 8))::bit(32)::bigint AS hash
    FROM pgblend_data.chunk AS c WHERE c.id = ANY($1)"""

_STEPS = """
    WITH step AS MATERIALIZED (
        SELECT n.*, row_number() OVER () AS place
        FROM pgblend._neighbours($1, $2, $3, $4) AS n
    ), here AS MATERIALIZED (
        SELECT f.node FROM pgblend._node_facts(ARRAY(
            SELECT s.node FROM step AS s UNION SELECT s.neighbour FROM step AS s)) AS f
    )
    SELECT s.node, s.neighbour, s.is_reverse, s.edge_type, s.weight,
        CASE WHEN s.node NOT IN (SELECT h.node FROM here AS h) THEN s.collection_id END AS from_of,
        CASE WHEN s.neighbour NOT IN (SELECT h.node FROM here AS h)
            THEN s.neighbour_collection_id END AS to_of
    FROM step AS s
    ORDER BY s.place"""
_STEP_TYPES = ["bigint[]", "text", "text[]", "integer"]
_PRESENT = "SELECT f.node, f.collection_id FROM pgblend._node_facts($1) AS f"


class Shard:
    """Answers the calls of one trip."""

    def __init__(self, db: Database, left_ms: float) -> None:
        self.db, self.left_ms = db, left_ms
        self.store, self.index = StoreNode(db), Node(db)
        self.candidates: list[int] = []
        self.read: list[Passage] = []
        self.calls: dict[str, Callable[..., Any]] = {
            "configurations": self.configurations,
            "check_index": self.check_index,
            "count": self.asked(CountRequest, self.index.count),
            "known": self.asked(KnownRequest, self.index.known),
            "similar": self.asked(SimilarRequest, self.index.similar_of),
            "find": self.listed(ListRequest, self.index.find),
            "sample": self.asked(ListRequest, self.index.sample),
            "nearest": self.nearest,
            "literal": self.listed(LiteralRequest, self.store.literal),
            "hashes": self.hashes,
            "hold": self.hold,
            "has_chunks": self.store.has_chunks,
            "first_named": self.first_named,
            "is_named": self.store.is_named,
            "around": self.store.around,
            "routine": self.routine,
            "view": self.view,
            "passages": self.asked(PassagesRequest, self.passages),
            "snippets": self.snippets,
            "holders": self.asked(HoldersRequest, self.store.holders),
            "ages_days": self.asked(AgesRequest, self.store.ages_days),
            "languages": self.asked(LanguagesRequest, self.store.languages),
            "passing": self.asked(PassingRequest, self.store.passing),
            "distances": self.asked(DistancesRequest, self.store.distances),
            "named_documents": self.asked(NamesRequest, self.store.named_documents),
            "cosines": self.of_space(CosinesRequest, self.store.cosines),
            "vectors": self.of_space(VectorsRequest, self.store.vectors),
            "steps": self.asked(NeighboursRequest, self.steps),
            "present": self.present,
            "node_passages": self.asked(NodesRequest, self.store.node_passages),
        }

    def answer(self, call: Sequence[Any]) -> Mapping[str, Any]:
        """Return the value of a call, or the error that it ended in."""
        name, *arguments = call
        try:
            value = self.calls[name](*arguments)
        except self.db.Problem as error:
            if error_state(error) == CANCELLED:  # the coordinator waits for the end of it all
                raise
            return {"error": error_of(error)}
        return {"value": list(value.items()) if isinstance(value, dict) else value}

    def asked(self, kind: Any, method: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return what reads a request, gives it the time that is left, and answers it."""

        def answer(value: Any) -> Any:
            request = built(kind, value)
            if "timeout_ms" in kind._fields:
                request = request._replace(timeout_ms=self.left_ms)
            return method(request)

        return answer

    def listed(
        self, kind: Any, method: Callable[[Any], CandidateList]
    ) -> Callable[[Any], list[Any]]:
        """Return what answers a request for candidates, and remembers these."""

        def answer(value: Any) -> list[Any]:
            return self.remembered(self.asked(kind, method)(value))

        return answer

    def of_space(self, kind: Any, method: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return what answers a request that names an embedding space, if there is one."""

        def answer(value: Any) -> Any:
            self.space(built(kind, value).space, [])
            return self.asked(kind, method)(value)

        return answer

    def space(self, name: str, collection_ids: Sequence[int]) -> tuple[Space, bool]:
        """Return this server's space of a name, and whether the collections are all there are."""
        state = read_state(self.db, None, None, collection_ids)
        space = state.space(name)
        if space is None:
            raise ProgramError("an embedding space has no name", "Name it.")
        return space, state.is_everywhere

    def remembered(self, found: CandidateList) -> list[Any]:
        """Return candidates as they travel, and remember them."""
        self.candidates += found.chunk_ids
        return packed_list(found)

    def nearest(self, value: Any) -> list[Any]:
        """Return the nearest passages, by what this server knows of the space."""
        asked: VectorRequest = built(VectorRequest, value)
        space, is_everywhere = self.space(asked.space.name, asked.collection_ids)
        request = asked._replace(space=space, is_everywhere=is_everywhere)
        return self.remembered(self.store.nearest(request))

    def configurations(self, collection_ids: Sequence[int]) -> Sequence[str]:
        """Return the text search configurations that are in use."""
        found: Sequence[str] = self.db.run(_CONFIGURATIONS, ["bigint[]"], collection_ids)[0][
            "configs"
        ]
        return found

    def check_index(self, collection_ids: Sequence[int], is_strict: bool) -> Sequence[str] | None:
        """Return the error of a check of the lexical index, None for none."""
        try:
            self.index.check_index(collection_ids, is_strict)
        except ProgramError as error:
            return error_of(error)
        return None

    def hold(self, name: str, collection_ids: Sequence[int]) -> Held:
        """Keep a space from being dropped; tell what it has."""
        return self.store.hold(self.space(name, collection_ids)[0], collection_ids, True)

    def first_named(self, query: str) -> tuple[int, bool] | None:
        """Return the first of the trip's candidates, and whether it is called as the query asks."""
        if not self.candidates:
            return None
        return self.candidates[0], self.store.is_named(query, self.candidates[0])

    def passages(self, request: PassagesRequest) -> list[Passage]:
        """Return the passages that are there, and remember them."""
        self.read = self.store.passages(request)
        return self.read

    def snippets(
        self,
        query: str | None,
        lexemes: Mapping[str, Sequence[str]],
        corrections: Sequence[tuple[int, Sequence[str]]],
    ) -> dict[int, str]:
        """Return the snippets of the passages that were just read, by chunk id.

        `lexemes` has what the query looks for by configuration, `corrections` what else by passage.
        """
        meanings = {
            name: Meaning(config_version(self.db, name), tuple(lexemes[name]))
            for name in {one.text_search_config for one in self.read}.intersection(lexemes)
        }
        others = {chunk_id: tuple(found) for chunk_id, found in corrections}
        sought = [
            Sought(query, others.get(one.chunk_id, ()), meanings.get(one.text_search_config))
            for one in self.read
        ]
        return made_snippets(self.db, self.read, sought)

    def steps(self, request: NeighboursRequest) -> list[Step]:
        """Return the edges of nodes, the heaviest first, and which ends are on other shards."""
        asked = request.nodes, request.direction, request.edge_types, request.most
        return [Step(**row) for row in self.db.run(_STEPS, _STEP_TYPES, *asked)]

    def present(self, nodes: Sequence[int]) -> list[list[int]]:
        """Return those of the nodes that are here, and their collections."""
        rows = self.db.run(_PRESENT, ["bigint[]"], nodes)
        return [[row["node"], row["collection_id"]] for row in rows]

    def routine(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """Return what a routine gives that coordinators ask for: its rows, or its value."""
        types = list(ROUTINES[name])
        values = [
            json.dumps(value) if kind == "jsonb" and value is not None else value
            for kind, value in zip(types, arguments, strict=True)
        ]
        schema = "pgblend" if name.startswith("_") else "blend"
        places = ", ".join(f"${place}" for place in range(1, len(types) + 1))
        return self.rows(f"{schema}.{name}({places})", types, values)

    def view(self, name: str) -> list[Any]:
        """Return the rows of a view that coordinators ask for."""
        if name not in VIEWS:
            raise KeyError(name)
        return self.rows(f"blend.{name}", [], [])

    def rows(self, source: str, types: list[str], values: Sequence[Any]) -> list[Any]:
        """Return rows as JSON."""
        found = self.db.run(f"SELECT to_json(r)::text AS row FROM {source} AS r", types, *values)
        return [None if one["row"] is None else json.loads(one["row"]) for one in found]

    def hashes(self) -> str:
        """Return what equal texts have in common, of the trip's candidates so far, in their order.

        Others may have it in common too: it only tells which texts are worth a comparison.
        """
        rows = self.db.run(_HASHES, ["bigint[]"], self.candidates)
        found = {row["id"]: row["hash"] for row in rows}
        return packed("I", [found.get(one, 0) for one in self.candidates])


def error_of(error: Exception) -> list[str]:
    """Return what an error says."""
    if isinstance(error, ProgramError):
        return [error.sqlstate, error.message, error.hint, error.table_name or ""]
    return [error_state(error), error_message(error), *error_fields(error)]


def answered(db: Database, trip: str, further: str) -> str:
    """Return the answer to a trip and the shard's further calls; all are JSON."""
    read = json.loads(trip)
    known = db.run(_SELF, [])
    if read["wire"] > WIRE:
        return json.dumps(_OLDER)
    if not known or known[0]["version"] < read["version"]:
        return json.dumps(_LACKS)
    shard = Shard(db, read["left_ms"])
    return json.dumps([shard.answer(call) for call in [*read["calls"], *json.loads(further)]])
