-- add_edge: join two nodes by an edge, as one node does, of whatever shards they are.
-- Both rows of an edge are with its source: where the other end is on another shard, its shard
-- tells the coordinator when it goes (graph_change).
CREATE OR REPLACE FUNCTION blend.add_edge(
    source text,
    target text,
    edge_type text DEFAULT 'link',
    weight real DEFAULT 1,
    metadata jsonb DEFAULT '{}'
)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    arguments jsonb := jsonb_build_object(
        'source', source, 'target', target, 'edge_type', edge_type, 'weight', weight,
        'metadata', metadata::text);
    ends bigint[];
    target_collection text;
    is_new boolean;
BEGIN
    RETURN (
        SELECT bool_or((a.answer #>> '{}')::boolean)
        FROM pgblend._on_shards('blend.add_edge', arguments) AS a (answer));
EXCEPTION WHEN undefined_object THEN
    ends := ARRAY[pgblend._node_id(source), pgblend._node_id(target)];
    IF (SELECT count(*) FROM pgblend._node_facts(ends)) < 2 THEN
        RAISE;
    END IF;
    SELECT max(c.name) FILTER (WHERE f.node = ends[2]) INTO target_collection
    FROM pgblend._node_facts(ends) AS f
    INNER JOIN pgblend_data.collection AS c ON c.id = f.collection_id
    CROSS JOIN LATERAL pgblend._writable_collection(c.name);
    SELECT bool_or((a.answer #>> '{}')::boolean) INTO is_new
    FROM pgblend._on_shards('pgblend._add_far_edge', arguments || jsonb_build_object(
        'target_collection', target_collection)) AS a (answer);
    -- It may have gone before the edge was there for the worker to clear.
    IF (SELECT count(*) FROM pgblend._node_facts(ends)) < 2 THEN
        PERFORM blend.delete_edge(source, target, edge_type);
        RAISE;
    END IF;
    RETURN is_new;
END;
$function$;

-- _walk: nodes within some steps of seeds, each with its depth and the edge that led there.
-- A seed has depth 0 and no edge. At most node_limit nodes are found, over the heaviest edges
-- first. A step reads at most max(4 node_limit, 4000) edges; `is_cut` says that there would have
-- been more. Ties go by the node's number. See plpy/graph/walk.py. Edges are on shards.
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
from pgblend.plpy.search.candidates import StoredPassages
from pgblend.plpy.shards.relay import over_shards

graph = {
    "depth": depth, "direction": direction, "edge_types": edge_types, "node_limit": node_limit}
return db.answer(
    over_shards, lambda store: StoredPassages(store).walk(seeds, 1, graph)).columns
$python$;

-- _link_entities: store the entities and relations that a model found in passages of all shards,
-- as one node does; returns how many passages have any.
-- An entity is on the shard of its own bucket, its edges with the passages that say so. Again where
-- it was killed: passages with edges are left alone.
CREATE OR REPLACE FUNCTION pgblend._link_entities(collection_id bigint, version text)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.shards.links import link_entities

return db.answer(link_entities, collection_id, version)
$python$;

-- _link_mentions: link_mentions over all shards of a collection that the caller may write to.
CREATE OR REPLACE FUNCTION pgblend._link_mentions(collection_id bigint)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.shards.links import link_mentions

return db.answer(link_mentions, collection_id)
$python$;

-- _resolve_links: find anew what all links of a collection mean, over all its shards, and update
-- their edges; returns how many changed.
CREATE OR REPLACE FUNCTION pgblend._resolve_links(collection_id bigint, names text[])
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.shards.links import resolve_links

return db.answer(resolve_links, collection_id, names)
$python$;

-- _settle_graph: bring the graph of all shards up to date with some of what changed on them;
-- returns how many changes those were.
-- It begins anew where it was killed: a change is forgotten once edges are as they should be. Who
-- comes while another does this waits. A shard that is away is an error.
CREATE OR REPLACE FUNCTION pgblend._settle_graph()
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.shards.links import settle_graph

return db.answer(settle_graph)
$python$;

-- _diagnosis: search_diagnose of checked arguments; arms are run over all shards.
CREATE OR REPLACE FUNCTION pgblend._diagnosis(
    query text,
    document text,
    result_limit integer,
    collections text[],
    filter jsonb,
    profile text,
    options jsonb,
    query_embedding vector
)
RETURNS jsonb
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.search.diagnosis import diagnosis
from pgblend.plpy.search.diagnosis_facts import Call
from pgblend.plpy.shards.relay import over_shards

call = Call(
    query, document, result_limit, collections, filter, profile, options, query_embedding)
return db.answer(over_shards, lambda store: diagnosis(db, call, store))
$python$;
