"""A run's search of one query, once more, with its trace."""

import shlex
from typing import Any

from pgblend.cli.base.database import Connection, fetch_search
from pgblend.cli.base.errors import UserError

# The same arguments as pgblend._judged_search gives, and a trace.
_EXPLAINED = """
    SELECT q.query AS judged_query, s.trace, found.*
    FROM pgblend_data.evaluation_run AS r
    INNER JOIN pgblend_data.judged_query AS q ON q.set_id = r.set_id AND q.key = %(query)s
    CROSS JOIN LATERAL pgblend._search(
        query => CASE r.arm WHEN 'vector' THEN q.query ELSE pgblend._plain_query(q.query) END,
        result_limit => %(limit)s::integer,
        collections => (
            SELECT ARRAY[c.name] FROM pgblend_data.collection AS c WHERE c.id = r.collection_id),
        filter => NULL, profile => r.profile,
        options => CASE r.arm WHEN 'lexical' THEN '{"strict": true}'::jsonb ELSE '{}' END
            || r.options,
        query_embedding => CASE WHEN r.arm IN ('hybrid', 'vector') THEN q.embedding END,
        only_arm => nullif(r.arm, 'hybrid'), traced => 'page') AS s
    LEFT JOIN LATERAL unnest(s.results) AS found ON true
    WHERE r.id = %(run)s
    ORDER BY found.rank
"""


def explain_query(
    connection: Connection, run_id: int, query_key: str, limit: int
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a search's rows, each with `trace`, and what it went without; none found is one row.

    A run or a query that is not there, or that the caller may not read, is an error.
    """
    connection.execute("SET pgblend.purpose = 'evaluation'")  # what the search log says of it
    parameters = {"run": run_id, "query": query_key, "limit": limit}
    rows, degraded = fetch_search(connection, _EXPLAINED, parameters)
    if not rows:
        raise UserError(
            f"there is no run {run_id} with a query {query_key!r} that you may read",
            hint=f"pgblend eval show {run_id} lists its worst queries by key",
        )
    return rows, degraded


def explain_command(run_id: int, query_key: str) -> str:
    """Return the command that shows how a run's search ranks a query."""
    parts = ["pgblend", "eval", "explain", str(run_id), query_key]
    if query_key.startswith("-"):
        parts.insert(3, "--")
    return shlex.join(parts)
