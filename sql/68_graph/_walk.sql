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
from pgblend.plpy.search.node import StoreNode
from pgblend.plpy.search.pool import StoredPassages

return StoredPassages(StoreNode(db)).walk(seeds, 1, {
    "depth": depth, "direction": direction, "edge_types": edge_types, "node_limit": node_limit
}).columns
$python$;
