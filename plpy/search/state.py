"""What a search finds set when it begins: read by one statement, so that a change holds at once."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from pgblend.plpy.ports import Space
from pgblend.plpy.session import Database, UserError
from pgblend.plpy.settings.catalog import CATALOG
from pgblend.plpy.settings.check import read_json
from pgblend.plpy.settings.layers import Layers

# $1 names of collections, or $2 their ids; neither: all that the caller may read. OFFSET 0: small
# tables are never analyzed, and a join would read all of pg_class.
_READ = """
WITH searched AS MATERIALIZED (
    SELECT
        coalesce(array_agg(c.id ORDER BY c.id), '{}') AS ids,
        coalesce(array_agg(c.name ORDER BY c.id), '{}') AS names,
        CASE count(*) WHEN 1 THEN min(c.settings::text) END AS of_collection
    FROM pgblend_data.collection AS c
    WHERE CASE WHEN $2 IS NULL THEN $1 IS NULL OR c.name = ANY($1) ELSE c.id = ANY($2) END
),

whole AS MATERIALIZED (
    SELECT jsonb_object_agg(v.name, v.value) AS settings FROM pgblend._setting_values AS v
),

wanted AS MATERIALIZED (
    SELECT coalesce($3, w.settings ->> 'default_profile', $4) AS profile FROM whole AS w
)

SELECT
    s.ids,
    s.names,
    coalesce(s.of_collection, '{}') AS of_collection,
    coalesce(w.settings::text, '{}') AS of_database,
    p.settings::text AS of_profile,
    p.experiment_id AS experiment,
    n.profile,
    NOT EXISTS (
        SELECT FROM pgblend_data.collection AS c WHERE c.id <> ALL(s.ids)) AS is_everywhere,
    EXISTS (
        SELECT FROM pgblend_data.attached_table AS a
        WHERE a.tenant_column IS NOT NULL AND a.collection_id = ANY(s.ids)) AS has_tenants,
    ARRAY(
        SELECT json_build_object(
            'name', e.name, 'model', e.model, 'dimensions', e.dimensions, 'is_active', e.active,
            'storage', e.storage, 'vector_type', e.vector_type, 'ef_search', e.ef_search,
            'table_name', e.table_name, 'table_id', t.oid::bigint,
            'vectors', t.reltuples::double precision,
            'has_policy', row_security_active(t.oid),
            'asked_dimensions', e.asked_dimensions)::text
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
    ) AS calibrations,
    CASE WHEN $5 IS NOT NULL THEN set_config('pgblend.last_search', $5, true) END AS noted,
    current_user::text AS role
FROM searched AS s
CROSS JOIN whole AS w
CROSS JOIN wanted AS n
LEFT JOIN pgblend_data.profile AS p ON p.name = n.profile
"""
_TYPES = ["text[]", "bigint[]", "text", "text", "text"]


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
        raise UserError(
            f'there is no embedding space "{name[:200]}"',
            "SELECT name FROM blend.embedding_spaces; the setting space names it.",
        )


def read_state(
    db: Database,
    profile: str | None,
    collections: Sequence[str | None] | None,
    collection_ids: Sequence[int] | None = None,
    last_search: str | None = None,
) -> State:
    """Return what is set for a search of some collections; `last_search` names it (last_search).

    42704 for a collection that is not there or that the caller may not read (the two cannot be told
    apart), 22023 for an unknown profile.
    """
    default = CATALOG["default_profile"].default
    values = collections, collection_ids, profile, default, last_search
    row = db.run(_READ, _TYPES, *values)[0]
    found = set(row["names"])
    for name in collections or ():
        if name not in found:
            shown = "NULL" if name is None else name[:200]
            raise UserError(
                f'there is no collection "{shown}" that {row["role"]} may read',
                "SELECT name FROM blend.collections",
                "42704",
            )
    if row["of_profile"] is None:
        raise UserError(
            f'there is no profile "{row["profile"][:200]}"', "SELECT name FROM blend.profiles"
        )
    spaces = list(map(read_space, row["spaces"]))
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
