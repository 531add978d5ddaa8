"""What people who search from the page say of what they found."""

from typing import Any, LiteralString

from pgblend.cli.search_models import Query
from pgblend.cli.serve.door import Caller, Door

_NOTE: LiteralString = """
    SELECT pgblend._note_feedback(
        %(query)s::text, %(chunk_id)s::bigint, %(grade)s::integer) AS judged_query
"""
_GRADES: LiteralString = """
    SELECT j.collection, j.source_key, j.grade
    FROM blend.judgements AS j
    WHERE j.query = %(query)s::text AND j.judged_set = left('feedback: ' || j.collection, 200)
"""


async def judge(door: Door, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    """Note how well a passage answers a query, as `blend.feedback` does for a logged search."""
    await door.run(caller, Query(_NOTE, given))
    return {"grade": given["grade"], "degraded": []}


async def judgements(door: Door, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    """Return what was said of documents for a query."""
    (rows,) = await door.run(caller, Query(_GRADES, given))
    return {"judgements": rows, "degraded": []}
