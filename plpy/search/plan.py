"""What a search is to do: the settings in force, and which stages run or why they do not."""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from pgblend.plpy.base.catalog import CATALOG, Cursor, SearchSettings
from pgblend.plpy.base.ports import Space
from pgblend.plpy.base.session import Database, Json, ProgramError, keep_value
from pgblend.plpy.base.settings import (
    Layers,
    as_mapping,
    check_settings,
    check_size,
    read_json,
    write_json,
)
from pgblend.plpy.base.unchanged import is_unchanged, run_unchanged

# What a search finds set when it begins: read by one statement, so that a change holds at once.

# $1 names of collections, or $2 their ids; neither: all that the caller may read. Documents with
# readers of their own are left out where the session asks for what all readers have in common.
# OFFSET 0: small tables are never analyzed, and a join would read all of pg_class.
_SEARCHED = """
    SELECT
        coalesce(array_agg(c.id ORDER BY c.id) FILTER (WHERE c.is_asked), '{{}}') AS ids,
        coalesce(array_agg(c.name ORDER BY c.id) FILTER (WHERE c.is_asked AND c.is_whole), '{{}}')
            AS names,
        CASE count(*) FILTER (WHERE c.is_asked AND c.is_whole)
            WHEN 1 THEN min(c.settings::text) FILTER (WHERE c.is_asked AND c.is_whole)
            END AS of_collection,
        count(*) FILTER (WHERE c.is_asked IS NOT TRUE) = 0 AS is_everywhere
    FROM {after_proof}(
        SELECT c.id, c.name, c.settings, c.parent_id IS NULL AS is_whole,
            CASE WHEN $2 IS NULL THEN $1 IS NULL OR c.name = ANY($1) ELSE c.id = ANY($2) END AND (
                c.parent_id IS NULL
                OR current_setting('pgblend.common_only', true) IS DISTINCT FROM 'on') AS is_asked
        FROM pgblend_data.collection AS c
        WHERE {is_proved} OFFSET 0) AS c
"""
_STATE = """
WITH {proof}searched AS MATERIALIZED ({searched}),

whole AS MATERIALIZED (
    SELECT jsonb_object_agg(v.name, v.value) AS settings FROM {setting} AS v
),

wanted AS MATERIALIZED (
    SELECT coalesce($3, w.settings ->> 'default_profile', $4) AS profile FROM whole AS w
)

SELECT
    s.ids,
    s.names,
    coalesce(s.of_collection, '{{}}') AS of_collection,
    coalesce(w.settings::text, '{{}}') AS of_database,
    p.settings::text AS of_profile,
    p.experiment_id AS experiment,
    n.profile,
    s.is_everywhere,
    EXISTS (
        SELECT FROM (
            SELECT a.collection_id FROM pgblend_data.attached_table AS a
            WHERE a.tenant_column IS NOT NULL OFFSET 0) AS a
        WHERE a.collection_id = ANY(s.ids)) AS has_tenants,
    {of_vectors},
    CASE WHEN $5 IS NOT NULL THEN set_config('pgblend.last_search', $5, true) END AS noted,
    current_user::text AS role,
    row_security_active('pgblend_data.collection'::regclass) AS is_bound,
    EXISTS (
        SELECT FROM pg_catalog.pg_db_role_setting AS d
        WHERE d.setrole = 0 AND d.setconfig::text ~ 'pgblend[.]') AS has_pins
FROM searched AS s
CROSS JOIN whole AS w
CROSS JOIN wanted AS n
LEFT JOIN pgblend_data.profile AS p ON p.name = n.profile
"""
_OF_VECTORS = """ARRAY(
        SELECT json_build_object(
            'name', e.name, 'model', e.model, 'dimensions', e.dimensions, 'is_active', e.active,
            'storage', e.storage, 'vector_type', e.vector_type, 'ef_search', e.ef_search,
            'table_name', e.table_name, 'table_id', t.oid::bigint,
            'vectors', t.reltuples::double precision,
            'has_policy', row_security_active(t.oid),
            'asked_dimensions', e.asked_dimensions, 'bridged_from', e.bridged_from)::text
        FROM pgblend_data.embedding_space AS e
        LEFT JOIN LATERAL (
            SELECT t.oid, t.reltuples FROM pg_catalog.pg_class AS t
            WHERE t.relname = e.table_name AND t.relnamespace = 'pgblend_data'::regnamespace
            OFFSET 0) AS t ON true
    ) AS spaces,
    ARRAY(
        SELECT json_build_object(
            'space', k.space, 'model', k.model, 'mean', k.mean, 'deviation', k.deviation,
            'coefficients', k.coefficients, 'ranking', k.ranking,
            'thresholds', k.thresholds)::text
        FROM pgblend_data.calibration AS k
        WHERE k.collection_id = s.ids[1] AND cardinality(s.ids) = 1
    ) AS calibrations"""
_NO_VECTORS = "'{}'::text[] AS spaces, '{}'::text[] AS calibrations"
# Whom row security binds proves first what may be read (90_row_security.sql). Others do without: a
# proof that is not made costs a third of the statement all the same. Its bits lead to the rows of
# collections, of which most may be others' compartments. Admins read more than is granted to them.
_PROVE = """proof AS MATERIALIZED (
    SELECT set_config('pgblend.readable', coalesce(
        (SELECT p.proof FROM pgblend_data.readable_proof AS p), ''), true) AS text
),
"""
_OF_PROVED = """proved AS MATERIALIZED (
    SELECT CASE
        WHEN w.words IS NULL OR pg_has_role('pgblend_admin', 'USAGE')
            THEN ARRAY(SELECT c.id FROM pgblend_data.collection AS c)
        ELSE ARRAY(
            SELECT (b.place - 1) * 64 + n.bit
            FROM unnest(w.words) WITH ORDINALITY AS b (word, place)
            CROSS JOIN generate_series(0, 63) AS n (bit)
            WHERE b.word <> 0 AND (b.word >> n.bit) & 1 = 1)
        END AS ids
    FROM {proof} AS p
    LEFT JOIN LATERAL (
        SELECT w.words FROM pgblend_data.readable_words AS w
        WHERE p.text IS NOT NULL OFFSET 0) AS w ON true
)"""
_BY_PROOF = _SEARCHED.format(
    after_proof="proved AS v\n    CROSS JOIN LATERAL ", is_proved="c.id = ANY(v.ids)"
)
_UNPROVED = {"proof": "", "searched": _SEARCHED.format(after_proof="", is_proved="true")}
_PROVED = {
    "proof": f"{_PROVE}\n{_OF_PROVED.format(proof='proof')},\n\n",
    "searched": _BY_PROOF,
}
# Where the proof is there already, and rows that are kept as long as no collection changes.
_FIND_SEARCHED = f"WITH {_OF_PROVED.format(proof='(SELECT 1 AS text)')}\n{_BY_PROOF}"
_KEPT = {
    "proof": "",
    "searched": """
    SELECT $6 AS ids, $7 AS names, $8 AS of_collection, $9 AS is_everywhere
""",
}
# Few servers pin settings (_setting_values); to look for pins takes as long as all the rest.
_UNPINNED, _PINNED = "pgblend_data.setting", "pgblend._setting_values"


def _states(proof: Mapping[str, str]) -> dict[tuple[bool, bool], str]:
    """Return the statements by whether settings may be pinned, and for vectors."""
    return {
        (has_pins, has_vectors): _STATE.format(**proof, setting=setting, of_vectors=of_vectors)
        for has_pins, setting in ((False, _UNPINNED), (True, _PINNED))
        for has_vectors, of_vectors in ((False, _NO_VECTORS), (True, _OF_VECTORS))
    }


READ_STATE = {False: _states(_UNPROVED), True: _states(_PROVED)}
"""By whether row security binds the caller."""

_OF_KEPT = _states(_KEPT)
_TYPES = ["text[]", "bigint[]", "text", "text", "text"]
_KEPT_TYPES = [*_TYPES, "bigint[]", "text[]", "text", "boolean"]


class State(NamedTuple):
    """What is set, and where is searched; settings are JSON texts, as keys of what follows.

    `is_everywhere`: the collections are all that the caller may read. `has_tenants`: one follows a
    table with a column of tenants. `calibrations` are what was
    fitted for the only one, by space, as JSON texts. `experiment` is the one that searches by the
    profile take part in.
    """

    collection_ids: Sequence[int]
    collections: Sequence[str]
    of_collection: str
    of_database: str
    of_profile: str
    profile: str
    role: str
    is_everywhere: bool
    spaces: Sequence[Space]
    calibrations: Sequence[str] = ()
    experiment: int | None = None
    has_tenants: bool = False

    def layers(self) -> Layers:
        """Return the settings of database, profile and the only collection searched."""
        texts = self.of_database, self.of_profile, self.of_collection
        return Layers(*map(read_json, texts))

    def space(self, name: str | None) -> Space | None:
        """Return the embedding space of this name, None: the active one; 22023 for no such name."""
        for space in self.spaces:
            if space.is_active if name is None else space.name == name:
                return space
        if name is None:
            return None
        raise ProgramError(
            f'there is no embedding space "{name[:200]}"',
            "SELECT name FROM blend.embedding_spaces. The setting space names it.",
        )


def read_state(
    db: Database,
    profile: str | None,
    collections: Sequence[str | None] | None,
    collection_ids: Sequence[int] | None = None,
    last_search: str | None = None,
    has_vectors: bool = True,
) -> State:
    """Return what is set for a search of some collections; `last_search` names it (last_search).

    Of a search by words alone, which is one without `has_vectors`, spaces are not read. Raises
    42704 for a collection that is not there or that the caller may not read (the two cannot be told
    apart), 22023 for an unknown profile.
    """
    default = CATALOG["default_profile"].default
    named = collections and [name and unicodedata.normalize("NFC", name) for name in collections]
    values = named, collection_ids, profile, default, None if is_unchanged(db) else last_search
    kept = db.kept("session_state")
    is_bound, has_pins = known = kept.get("known", (False, False))  # as of the search before
    if is_unchanged(db) and is_bound:
        (of,) = run_unchanged(db, _FIND_SEARCHED, _TYPES[:2], *values[:2], of="collections")
        statement = _OF_KEPT[has_pins, has_vectors]
        row = run_unchanged(db, statement, _KEPT_TYPES, *values, *of.values())[0]
        row = {**row, "ids": of["ids"]}  # the same list for as long as no collection changes
    else:
        row = db.run(READ_STATE[is_bound][has_pins, has_vectors], _TYPES, *values)[0]
    is_bound, has_pins = found = row["is_bound"], row["has_pins"]
    if found != known:
        kept["known"] = found
        row = db.run(READ_STATE[is_bound][has_pins, has_vectors], _TYPES, *values)[0]
    names = set(row["names"])
    for name in named or ():
        if name not in names:
            shown = "NULL" if name is None else name[:200]
            raise ProgramError(
                f'there is no collection "{shown}" that {row["role"]} may read',
                "SELECT name FROM blend.collections",
                "42704",
            )
    if row["of_profile"] is None:
        raise ProgramError(
            f'there is no profile "{row["profile"][:200]}"', "SELECT name FROM blend.profiles"
        )
    spaces = list(map(read_space, row["spaces"]))
    if has_vectors:
        forget_dropped(db, {space.table_name for space in spaces})
    return State(
        row["ids"],
        row["names"],
        row["of_collection"],
        row["of_database"],
        row["of_profile"],
        row["profile"],
        row["role"],
        row["is_everywhere"],
        spaces,
        row["calibrations"],
        row["experiment"],
        row["has_tenants"],
    )


def forget_dropped(db: Database, tables: set[str]) -> None:
    """Forget the plans of embedding spaces that are gone, which would take memory for nothing."""
    kept = db.kept("space_tables")
    gone = kept.get("names", set()) - tables
    kept["names"] = tables
    plans = db.kept("statements") if gone else {}
    for statement in [one for one in plans if any(table in one for table in gone)]:
        del plans[statement]


@lru_cache(maxsize=100)
def read_space(text: str) -> Space:
    """Return the embedding space that a JSON text of the statement tells."""
    return Space(**json.loads(text))


MOST_PLANS = 50
LONGEST = 4000
_FROM_CURSOR = "Take details -> 'cursor' of the last row of the page before."
_ON = {"on": True, True: True, "off": False, False: False}


class Plan(NamedTuple):
    """What a search runs by.

    `not_run` says why stages that are wanted do not run: {stage: why}. `needs_vectors`: the search
    fails without them. `is_kept` by a session for searches with the same options and settings.
    """

    settings: SearchSettings
    layers: Layers
    options: Mapping[str, Json]
    only_arm: str | None
    expands: bool
    reranks: bool
    needs_vectors: bool
    not_run: Mapping[str, str]
    no_expansion: str
    no_rerank: str
    cache_bytes: int

    def embeds(self, space: Space | str | None) -> bool:
        """Tell whether vectors are searched: in a space, or by its name, and with a weight."""
        return space is not None and self.settings.weights["vector"] > 0


def arm_depth(
    over_fetch: Mapping[str, float],
    candidate_depth: int,
    wanted: int,
    reranked: bool,
    variant: bool,
) -> int:
    """Return candidate_depth, or, by a literal profile's rule, a multiple of the rows wanted.

    With a `factor` above 0 in `over_fetch` it is max(minimum, factor · wanted) (S1: 2; S3: 2 and
    minimum 20). `variant_factor` holds for the lists of an expanded query (S1: 1), where it is
    given. So does `rerank_factor` where a reranker follows (S2: 3). `wanted` is offset + limit:
    only these profiles depend on it. At least 1, at most 10,000.
    """
    factor = over_fetch.get("factor", 0)
    if factor == 0:
        return candidate_depth
    if variant:
        factor = over_fetch.get("variant_factor", factor)
    elif reranked:
        factor = over_fetch.get("rerank_factor", factor)
    return int(min(max(over_fetch.get("minimum", 1), factor * wanted, 1), 10_000))


def search_plan(
    db: Database, state: State, options: str | None, only_arm: str | None, reranks: bool
) -> Plan:
    """Return what a search with these options (JSON) runs by; 22023 where they are wrong.

    A plan follows from its arguments, so a session keeps fifty. Not kept are those of long options,
    which seldom come again, nor of options that name what may be dropped. `reranks` in any case.
    """
    plans: dict[tuple[str | bool | None, ...], Plan] = db.kept("plans")
    of_state = state.of_database, state.of_profile, state.of_collection
    key = (options, *of_state, only_arm, reranks)
    plan = plans.get(key)
    if plan is None:
        plan = make_plan(db, state.layers(), options or "{}", only_arm, reranks)
        text = options or ""
        if len(text) <= LONGEST and '"language"' not in text:
            keep_value(plans, key, plan, MOST_PLANS)
    return plan


def make_plan(db: Database, layers: Layers, text: str, only_arm: str | None, reranks: bool) -> Plan:
    """Check options, put them over the layers, and decide which stages run."""
    options = checked_options(db, layers, text)
    settings = with_cursor_depth(SearchSettings(**layers.resolved(options)), options)
    settings = of_arm(settings, only_arm)
    check_weights(settings)
    asked = settings
    if only_arm is not None:  # nothing is expanded, and reranked only where the call says so
        asked = replace(settings, mode=str(options.get("mode") or "fast"), expand="off")
    given_stages = {"expand": bool(settings.expansion), "rerank": bool(settings.rerank_scores)}
    wanted = {stage: is_wanted(stage, asked, is_given) for stage, is_given in given_stages.items()}
    models = {"expand": "expansion_model", "rerank": "rerank_model"}
    not_run = {
        stage: "no model is set for it"
        for stage, model in models.items()
        if wanted[stage] and not given_stages[stage] and layers.server(model) is None
    }
    is_sum = settings.graph["combine"] == "sum"
    return Plan(
        settings,
        layers,
        options,
        only_arm,
        expands=wanted["expand"] and "expand" not in not_run,
        reranks=reranks or (wanted["rerank"] and "rerank" not in not_run),
        needs_vectors=only_arm == "vector" or (only_arm is None and is_sum),
        not_run=not_run,
        no_expansion=not_run.get("expand") or why_not("expand", settings),
        no_rerank=not_run.get("rerank") or why_not("rerank", settings),
        cache_bytes=layers.server("limits")["lexical_cache_bytes"],
    )


def checked_options(db: Database, layers: Layers, text: str) -> Mapping[str, Json]:
    """Return the options of a call, which are a JSON text; 22023 where they are wrong."""
    size = len(text.encode())
    check_size(layers.server("limits"), "options_bytes", "options", size, "bytes")
    options = read_json(text)
    check_settings(db, options, ["search"], "options")
    return options or {}


def of_arm(settings: SearchSettings, arm: str | None) -> SearchSettings:
    """Return the settings of a search by one arm (lexical, vector, fuzzy), or as they are."""
    if arm is None:
        return settings
    return replace(
        settings,
        weights={"lexical": 0, "vector": 0, "fuzzy": 0, arm: 1},
        graph={**settings.graph, "weight": 0},
        fuzzy="on" if arm == "fuzzy" else "off",
    )


def check_weights(settings: SearchSettings) -> None:
    """Raise 22023 where no arm would run."""
    weights = settings.weights
    if weights["lexical"] == 0 == weights["vector"] and not (
        settings.fuzzy == "on" and weights["fuzzy"] > 0
    ):
        raise ProgramError(
            'options: "weights" are all 0: expected one above 0', "An arm of weight 0 is not run."
        )


def is_wanted(stage: str, settings: SearchSettings, is_given: bool) -> bool:
    """Tell whether a stage that asks models (expand, rerank) is wanted.

    The setting of its name decides. Where that is auto, what the caller passes in is wanted. Else
    the mode decides: fast, api and tool want neither, thorough and agent both. The mode default
    wants rerank, and expand where there is a chat before the query.
    """
    asked = settings.expand if stage == "expand" else settings.rerank
    has_more = stage == "rerank" or settings.history
    modes = ("thorough", "agent", "default") if has_more else ("thorough", "agent")
    return _ON.get(asked, is_given or settings.mode in modes)


def why_not(stage: str, settings: SearchSettings) -> str:
    """Return why a stage that asks models is not wanted, for people."""
    asked = settings.expand if stage == "expand" else settings.rerank
    return f"by the setting {stage}" if _ON.get(asked) is False else f"by the mode {settings.mode}"


def with_cursor_depth(settings: SearchSettings, options: Mapping[str, Json]) -> SearchSettings:
    """Return the settings with the candidate_depth that the cursor (option after) has.

    A cursor leads through one order, which candidate_depth decides. That of the first page holds,
    whatever is set since. Raises 22023 for another one in the call, and for none from 1 to 10,000.
    """
    depth = settings.after.get("depth")
    if depth is None:
        return settings
    if not 1 <= depth <= 10_000 or depth % 1 != 0:
        raise ProgramError(
            f'options: "after" has depth {write_json(depth)[:200]}: expected a whole number from 1'
            " to 10000",
            _FROM_CURSOR,
        )
    if options.get("candidate_depth") not in (None, depth):
        raise ProgramError(
            f'options: "candidate_depth" is {options["candidate_depth"]}, but "after" is of pages'
            f" of depth {depth}",
            "Another depth is another order: begin again without after.",
        )
    return replace(settings, candidate_depth=int(depth))


def check_cursor(after: Cursor) -> None:
    """Raise 22023 where a cursor is not whole."""
    if after and not after.keys() >= {"score", "document_id", "chunk_index"}:
        raise ProgramError(
            f'options: "after" is {json.dumps(after)}: expected score, document_id and chunk_index',
            _FROM_CURSOR,
        )


def told_plan(db: Database, state: State, options: str | None) -> str:
    """Return as JSON the settings in force, and which stages run, for those who ask models."""
    plan = search_plan(db, state, options, None, reranks=False)
    has_weight = plan.settings.weights["vector"] > 0  # else the space is not looked for
    space = state.space(plan.settings.space) if has_weight else None
    stages = {"expand": plan.expands, "embed": plan.embeds(space), "rerank": plan.reranks}
    return write_json({**as_mapping(plan.settings), "stages": stages})


def told_settings(db: Database, state: State, options: str | None) -> str:
    """Return as JSON the settings in force."""
    layers = state.layers()
    return write_json(layers.resolved(checked_options(db, layers, options or "{}")))


_COLLECTION_IDS = "SELECT pgblend._searched_collections($1) AS ids"


def context_settings(
    db: Database, options: str | None, profile: str | None, collections: Sequence[str] | None
) -> str:
    """Return as JSON the settings of a search whose results are made into a context.

    Reserves that are more than max_tokens together are an error: they could not be kept.
    """
    ids = db.run(_COLLECTION_IDS, ["text[]"], collections)[0]["ids"]
    settings = told_settings(db, read_state(db, profile, None, ids), options)
    read = json.loads(settings, parse_float=Decimal, parse_int=Decimal)
    reserved, most = sum(read["reserve_tokens"].values()), read["max_tokens"]
    if reserved > most:
        raise ProgramError(
            f'options: "reserve_tokens" are {reserved} together: expected at most max_tokens'
            f" ({most})",
            "Raise max_tokens, or reserve less.",
        )
    return settings
