-- _add_far_edge: add_edge from a node of this shard to one of another, by the collection of that;
-- an error where the source is not here.
-- Both rows are stored here: a walk asks all shards, and the edge comes and goes at once.
CREATE OR REPLACE FUNCTION pgblend._add_far_edge(
    source text,
    target text,
    target_collection text,
    edge_type text,
    weight real,
    metadata jsonb
)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    own record;
BEGIN
    SELECT f.* INTO own FROM pgblend._node_facts(ARRAY[pgblend._node_id(source)]) AS f;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no node %', source
            USING ERRCODE = '42704',
            HINT = 'graph_node(collection, source_key) gives the node of a document.';
    END IF;
    RETURN pgblend._store_edges(ARRAY[ROW(
        own.node, false, pgblend._node_id(target), edge_type, 'hand', 0, 0, own.collection_id,
        (pgblend._writable_collection(target_collection)).id, own.bucket, weight,
        metadata)::pgblend_data.edge]) > 0;
END;
$function$;

-- _clear_nodes: delete the edges of this shard that lead to nodes which are on none;
-- entities that they led from may be without an edge now.
CREATE OR REPLACE FUNCTION pgblend._clear_nodes(nodes jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    gone bigint[] := ARRAY(SELECT n::bigint FROM jsonb_array_elements_text(nodes) AS n);
    neighbours bigint[];
    own_collection bigint;
BEGIN
    WITH deleted AS (
        DELETE FROM pgblend_data.edge AS e WHERE e.node = ANY(gone)
        RETURNING e.neighbour, e.neighbour_collection_id
    )

    SELECT array_agg(DISTINCT d.neighbour), min(d.neighbour_collection_id)
    INTO neighbours, own_collection
    FROM deleted AS d;
    DELETE FROM pgblend_data.edge AS e WHERE e.node = ANY(neighbours) AND e.neighbour = ANY(gone);
    PERFORM pgblend._drop_lone_entities(neighbours, own_collection);
END;
$function$;

-- _document_ids: the documents of this shard that have some source keys.
-- asked has objects {collection_id, keys}.
CREATE OR REPLACE FUNCTION pgblend._document_ids(asked jsonb)
RETURNS TABLE (collection_id bigint, source_key text, document_id bigint)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT d.collection_id, d.source_key, d.id
    FROM jsonb_to_recordset(asked) AS a (collection_id bigint, keys text[])
    INNER JOIN pgblend_data.document AS d
        ON d.collection_id = a.collection_id AND d.source_key = ANY(a.keys);
END;
$function$;

-- _documents_named: the documents of a collection on this shard that links may call by some names.
CREATE OR REPLACE FUNCTION pgblend._documents_named(collection text, names jsonb)
RETURNS TABLE (name text, document_id bigint, source_key text, kind text, full_name text)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.edge_rows import candidates_of
from pgblend.plpy.shards.relay import named_id

return candidates_of(db, named_id(db, collection), json.loads(names))
$python$;

-- _end_graph_changes: forget changes of this shard that the coordinator has looked at.
CREATE OR REPLACE FUNCTION pgblend._end_graph_changes(ids jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    DELETE FROM pgblend_data.graph_change AS c
    WHERE c.id IN (SELECT i::bigint FROM jsonb_array_elements_text(ids) AS i);
END;
$function$;

-- _graph_changes: some of what changed on this shard that edges of other shards hang on.
CREATE OR REPLACE FUNCTION pgblend._graph_changes(most integer)
RETURNS TABLE (id bigint, collection_id bigint, name text, node bigint, source_key text)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT c.id, c.collection_id, c.name, c.node, c.source_key
    FROM pgblend_data.graph_change AS c
    LIMIT most;
END;
$function$;

-- _joined_nodes: those of some nodes that have an edge on this shard.
CREATE OR REPLACE FUNCTION pgblend._joined_nodes(nodes jsonb)
RETURNS SETOF bigint
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT n::bigint FROM jsonb_array_elements_text(nodes) AS n
    WHERE EXISTS (SELECT FROM pgblend_data.edge AS e WHERE e.node = n::bigint);
END;
$function$;

-- _join_passages: store what a model found in passages of this shard, in the place of what it had
-- found before.
-- passages are {chunk_id, edges}; an edge is [source, target, type], whose entities may be of other
-- shards. One that is not here (any more) is left out.
CREATE OR REPLACE FUNCTION pgblend._join_passages(collection text, version text, passages jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    own_id bigint := (pgblend._writable_collection(collection)).id;
BEGIN
    DELETE FROM pgblend_data.edge AS e
    WHERE e.chunk_id IN (
            SELECT p.chunk_id FROM jsonb_to_recordset(passages) AS p (chunk_id bigint))
        AND e.chunk_id <> 0 AND e.origin = 'model' AND e.collection_id = own_id;
    PERFORM pgblend._store_edges(ARRAY(
        SELECT ROW(
            (e ->> 0)::bigint, false, (e ->> 1)::bigint, e ->> 2, 'model', c.document_id, c.id,
            own_id, own_id, c.bucket, 1, jsonb_build_object('version', version))::pgblend_data.edge
        FROM jsonb_to_recordset(passages) AS p (chunk_id bigint, edges jsonb)
        INNER JOIN pgblend_data.chunk AS c ON c.id = p.chunk_id AND c.collection_id = own_id
        CROSS JOIN LATERAL jsonb_array_elements(p.edges) AS e));
END;
$function$;

-- _lead_links: lead links of this shard to documents, of other shards too, and make their edges;
-- returns how many.
-- changes is an array of [link, document, former one]; a link that is of another shard, or leads
-- elsewhere by now, stays as it is.
CREATE OR REPLACE FUNCTION pgblend._lead_links(collection text, changes jsonb)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.edge_rows import lead_links

db.run("SELECT pgblend._writable_collection($1)", ["text"], collection)
return db.answer(lead_links, json.loads(changes))
$python$;

-- _link_names: the names that links of a collection on this shard have, each once.
CREATE OR REPLACE FUNCTION pgblend._link_names(collection text)
RETURNS SETOF text
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT DISTINCT l.name FROM pgblend_data.link AS l
    WHERE l.collection_id = (pgblend._named_collection(collection)).id;
END;
$function$;

-- _links_called: the links of a collection on this shard that have some names.
CREATE OR REPLACE FUNCTION pgblend._links_called(collection text, names jsonb)
RETURNS TABLE (
    id bigint,
    kind text,
    target text,
    path text,
    name text,
    target_document_id bigint,
    source_key text
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.edge_rows import links_of
from pgblend.plpy.shards.relay import named_id

return links_of(db, named_id(db, collection), json.loads(names))
$python$;

-- _nodes_there: those of some nodes that are on this shard.
CREATE OR REPLACE FUNCTION pgblend._nodes_there(nodes jsonb)
RETURNS SETOF bigint
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT f.node FROM pgblend._node_facts(ARRAY(
        SELECT n::bigint FROM jsonb_array_elements_text(nodes) AS n)) AS f;
END;
$function$;

-- _references: which rows of this shard reference what, by foreign keys: those that have some
-- source keys, and those that reference some target keys.
-- asked has objects {collection_id, foreign_key, source_keys, target_keys}.
CREATE OR REPLACE FUNCTION pgblend._references(asked jsonb)
RETURNS TABLE (
    document_id bigint,
    collection_id bigint,
    constraint_name text,
    target_key text
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT r.document_id, r.collection_id, r.constraint_name, r.target_key
    FROM jsonb_to_recordset(asked) AS a (
        collection_id bigint, foreign_key text, source_keys text[], target_keys text[])
    INNER JOIN pgblend_data.document AS d
        ON d.collection_id = a.collection_id AND d.source_key = ANY(a.source_keys)
    INNER JOIN pgblend_data.key_reference AS r
        ON r.document_id = d.id AND r.constraint_name = a.foreign_key
    UNION
    SELECT r.document_id, r.collection_id, r.constraint_name, r.target_key
    FROM jsonb_to_recordset(asked) AS a (
        collection_id bigint, foreign_key text, source_keys text[], target_keys text[])
    INNER JOIN pgblend_data.key_reference AS r
        ON r.target = 0::oid::regclass AND r.target_key = ANY(a.target_keys)
            AND r.collection_id = a.collection_id AND r.constraint_name = a.foreign_key;
END;
$function$;

-- _settle_graph: bring the graph of a coordinator's shards up to date with some of what changed on
-- them; returns how many changes those were, 0 on one node.
CREATE OR REPLACE FUNCTION pgblend._settle_graph()
RETURNS bigint
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
RETURN 0;

-- _store_key_edges: store edges of foreign keys from documents of this shard; returns how many are
-- new.
-- edges has objects {document_id, collection_id, target_key, target_id, target_collection_id,
-- foreign_keys}. What a row does not reference by now, and what is of another shard, is left out.
-- The collections are locked, as for the worker that brings rows (_claim_rows).
CREATE OR REPLACE FUNCTION pgblend._store_key_edges(edges jsonb)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM FROM pgblend_data.collection AS c
    WHERE c.id IN (
        SELECT (e.edge ->> 'collection_id')::bigint FROM jsonb_array_elements(edges) AS e (edge))
    ORDER BY c.id
    FOR NO KEY UPDATE;
    PERFORM FROM pgblend_data.document AS d
    WHERE d.id IN (
        SELECT (e.edge ->> 'document_id')::bigint FROM jsonb_array_elements(edges) AS e (edge))
    ORDER BY d.id
    FOR KEY SHARE;
    RETURN pgblend._store_edges(ARRAY(
        SELECT ROW(
            d.id * 4, false, e.target_id * 4, 'foreign_key', 'key', d.id, 0, d.collection_id,
            e.target_collection_id, d.bucket, 1,
            jsonb_build_object('constraints', k.names))::pgblend_data.edge
        FROM jsonb_to_recordset(edges) AS e (
            document_id bigint, target_key text, target_id bigint, target_collection_id bigint,
            foreign_keys text[])
        INNER JOIN pgblend_data.document AS d ON d.id = e.document_id
        CROSS JOIN LATERAL (
            SELECT jsonb_agg(r.constraint_name ORDER BY r.constraint_name) AS names
            FROM pgblend_data.key_reference AS r
            WHERE r.document_id = d.id AND r.target_key = e.target_key
                AND r.constraint_name = ANY(e.foreign_keys)
        ) AS k
        WHERE k.names IS NOT NULL AND d.id <> e.target_id));
END;
$function$;
