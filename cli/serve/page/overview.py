"""What the page can offer: collections, profiles, judged sets, and what the caller may do."""

from typing import Any

from pgblend.cli.search_models import Query
from pgblend.cli.serve.door import Caller, Door

_FACTS = Query(
    """
    SELECT current_user::text AS role,
        blend.get_setting('default_profile') #>> '{}' AS profile,
        blend.get_setting('answer_model') #>> '{}' AS answer_model,
        blend.get_setting('expansion_model') #>> '{}' AS expansion_model,
        num_nonnulls(
            nullif(blend.get_setting('expansion_model'), 'null'),
            nullif(blend.get_setting('rerank_model'), 'null')) > 0 AS asks_models,
        pg_has_role('pgblend_writer', 'USAGE') AS may_write,
        pgblend._has_edges() AS has_graph
    """,
    {},
)
_COLLECTIONS = Query("SELECT c.name FROM blend.collections AS c ORDER BY c.name", {})
_PROFILES = Query(
    "SELECT p.name, p.description FROM blend.profiles AS p ORDER BY NOT p.built_in, p.name", {}
)
_JUDGED = Query(
    """
    SELECT j.name, j.collection, j.judged_queries AS queries
    FROM blend.judged_sets AS j WHERE j.judged_queries > 0 ORDER BY j.name
    """,
    {},
)


async def overview(door: Door, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    """Say what there is to choose from."""
    (facts,), collections, profiles, judged = await door.run(
        caller, _FACTS, _COLLECTIONS, _PROFILES, _JUDGED
    )
    return {
        **facts,
        "collections": [row["name"] for row in collections],
        "profiles": profiles,
        "judged_sets": judged,
        "degraded": [],
    }
