"""A node with what is around it, and the edges between all of these."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from pgblend.cli.base.database import Connection, fetch_rows, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.parameters import shorten

_NODE = "SELECT blend.graph_node(%(collection)s::text, %(key)s::text)"
_DOCUMENT = """
    SELECT 'document:' || pgblend._find_document(
        %(key)s::text, pgblend._searched_collections(NULL))
"""
SELF: LiteralString = """
    SELECT pgblend._node_name(f.node) AS node, f.kind, f.title, f.source_key
    FROM pgblend._node_facts(ARRAY[pgblend._node_id(%(node)s::text)]) AS f
"""
AROUND: LiteralString = """
    SELECT n.neighbour AS node, n.kind, n.title, n.source_key, n.distance, n.via
    FROM blend.graph_neighbors(
        %(node)s::text, %(depth)s::integer, %(direction)s::text, %(edge_types)s::text[],
        %(limit)s::integer) AS n
"""
BETWEEN: LiteralString = """
    WITH inside AS (
        SELECT array_agg(pgblend._node_id(n)) AS ids FROM unnest(%(nodes)s::text[]) AS n
    )
    SELECT DISTINCT pgblend._node_name(e.node) AS source, pgblend._node_name(e.neighbour) AS target,
        e.edge_type
    FROM inside AS i
    CROSS JOIN LATERAL pgblend._neighbours(i.ids, 'out', %(edge_types)s::text[], 100000) AS e
    WHERE e.neighbour = ANY (i.ids)
    ORDER BY 1, 2, 3
"""


@dataclass(frozen=True)
class ShownNode:
    """A node; `via` is the one before it on the way from the first, which has distance 0.

    `title` names it as no other node is named: of several with one title each has its key, too.
    """

    name: str
    kind: str
    title: str
    source_key: str
    distance: int
    via: str


@dataclass(frozen=True)
class ShownEdge:
    """An edge between two nodes that are shown."""

    source: str
    target: str
    type: str


@dataclass(frozen=True)
class Neighbourhood:
    """The first node is the one that was asked for; the others come nearest first."""

    nodes: Sequence[ShownNode]
    edges: Sequence[ShownEdge]


def find_node(connection: Connection, text: str, collection: str | None) -> str:
    """Return the node that a user means: kind:id, or the source key or URI of a document."""
    if collection is not None:
        return str(fetch_value(connection, _NODE, {"collection": collection, "key": text}))
    kind, _, number = text.partition(":")
    if kind in ("document", "chunk", "entity") and number.isdecimal():
        return text
    found = fetch_value(connection, _DOCUMENT, {"key": text})
    if found is None:
        raise UserError(
            f"{shorten(text)} is no node",
            hint="give the source key or URI of a document, or document:ID, chunk:ID or entity:ID",
        )
    return str(found)


def read_neighbourhood(
    connection: Connection,
    node: str,
    depth: int,
    direction: str,
    edge_types: Sequence[str],
    limit: int,
) -> Neighbourhood:
    """Read the nodes within some steps of a node, and the edges between them."""
    parameters: dict[str, object] = {
        "node": node,
        "depth": depth,
        "direction": direction,
        "edge_types": list(edge_types) or None,
        "limit": limit,
    }
    around = fetch_rows(connection, AROUND, parameters)
    (own,) = fetch_rows(connection, SELF, parameters)
    nodes = nodes_of(own, around)
    parameters["nodes"] = [each.name for each in nodes]
    return Neighbourhood(nodes, edges_of(fetch_rows(connection, BETWEEN, parameters)))


def nodes_of(own: Mapping[str, Any], around: Sequence[Mapping[str, Any]]) -> list[ShownNode]:
    """Return the nodes of SELF's row and AROUND's rows."""
    rows = [{**own, "distance": 0, "via": ""}, *around]
    return [
        ShownNode(
            row["node"], row["kind"], title, row["source_key"] or "", row["distance"], row["via"]
        )
        for row, title in zip(rows, distinct_titles(rows), strict=True)
    ]


def edges_of(between: Sequence[Mapping[str, Any]]) -> list[ShownEdge]:
    """Return the edges of BETWEEN's rows."""
    return [ShownEdge(row["source"], row["target"], row["edge_type"]) for row in between]


def distinct_titles(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the titles of nodes, with the source key where several have one, or else the node."""
    counts = Counter(row["title"] for row in rows)
    keys = Counter((row["title"], row["source_key"]) for row in rows)
    titles = []
    for row in rows:
        title, key = row["title"], row["source_key"]
        if counts[title] > 1:
            is_told = key and key != title and keys[title, key] == 1
            title = f"{title} ({key if is_told else row['node']})"
        titles.append(title)
    return titles
