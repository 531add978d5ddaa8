-- _walk: nodes within some steps of seeds, each with its depth and the edge that led there.
-- A seed has depth 0 and no edge. At most node_limit nodes are found, over the heaviest edges
-- first. A step reads at most max(4 node_limit, 4000) edges; `is_cut` says that there would have
-- been more. Ties go by the node's number. See plpy/graph/walk.py.
CREATE OR REPLACE FUNCTION pgblend._walk(
    seeds bigint[],
    depth integer,
    direction text,
    edge_types text[],
    node_limit integer,
    OUT nodes bigint[],
    OUT depths integer[],
    OUT via bigint[],
    OUT reverses boolean[],
    OUT types text[],
    OUT weights real[],
    OUT is_cut boolean
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.graph.walk import breadth_first

STEP = (
    "SELECT array_agg(n.node) AS nodes, array_agg(n.neighbour) AS neighbours,"
    " array_agg(n.is_reverse) AS reverses, array_agg(n.edge_type) AS types,"
    " array_agg(n.weight) AS weights FROM pgblend._neighbours($1, $2, $3, $4) AS n")
most_edges = max(4 * node_limit, 4000)  # of one step

cut = []

def step(frontier):
    if STEP not in SD:
        SD[STEP] = plpy.prepare(STEP, ["bigint[]", "text", "text[]", "integer"])
    row = SD[STEP].execute([frontier, direction, edge_types, most_edges + 1])[0]
    columns = (row[name] or [] for name in (
        "nodes", "neighbours", "reverses", "types", "weights"))
    edges = list(zip(*columns))
    cut.append(len(edges) > most_edges)
    return edges[:most_edges]

found, full = breadth_first(seeds, depth, step, node_limit)
rows = [(node, *each) for node, of_node in found.items() for each in of_node]
edges = [edge or (None,) * 5 for *_, edge in rows]
return {
    "nodes": [row[0] for row in rows], "depths": [row[1] for row in rows],
    "via": [edge[0] for edge in edges], "reverses": [edge[2] for edge in edges],
    "types": [edge[3] for edge in edges], "weights": [edge[4] for edge in edges],
    "is_cut": full or any(cut)}
$python$;
