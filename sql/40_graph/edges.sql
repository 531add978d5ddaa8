-- add_edge: join two nodes by an edge; true where it is new, false where the stored edge got weight
-- and metadata.
-- The edge goes with either node and stays when a document's text is replaced. The caller must be
-- allowed to write to the collections of both. An unknown node, a loop, a weight outside 0 to
-- 1,000,000 and metadata that is no object are errors. Nodes are document:ID, chunk:ID or
-- entity:ID.
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
    source_node bigint := pgblend._node_id(source);
    target_node bigint := pgblend._node_id(target);
    missing bigint;
BEGIN
    IF source_node IS NULL OR target_node IS NULL OR source_node = target_node THEN
        RAISE EXCEPTION 'an edge from % to %: expected two different nodes',
            coalesce(pgblend._node_name(source_node), 'NULL'),
            coalesce(pgblend._node_name(target_node), 'NULL')
            USING ERRCODE = '22023',
            HINT = 'graph_node(collection, source_key) gives the node of a document.';
    ELSIF coalesce(edge_type, '') = '' OR octet_length(edge_type) > 200 THEN
        RAISE EXCEPTION 'edge_type is %: expected a text of 1 to 200 bytes',
            coalesce('"' || left(edge_type, 100) || '"', 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: cites';
    ELSIF weight IS NULL OR weight NOT BETWEEN 0 AND 1000000 THEN
        RAISE EXCEPTION 'weight is %: expected a number from 0 to 1000000',
            coalesce(weight::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'The default is 1.';
    ELSIF jsonb_typeof(metadata) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'metadata is %: expected a JSON object',
            coalesce(left(metadata::text, 200), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: {"page": 3}';
    END IF;
    SELECT n INTO missing FROM unnest(ARRAY[source_node, target_node]) AS n
    WHERE NOT EXISTS (SELECT FROM pgblend._node_facts(ARRAY[n]));
    IF FOUND THEN
        RAISE EXCEPTION 'there is no node %', pgblend._node_name(missing)
            USING ERRCODE = '42704',
            HINT = 'graph_node(collection, source_key) gives the node of a document.';
    END IF;
    PERFORM pgblend._writable_collection(c.name)
    FROM pgblend._node_facts(ARRAY[source_node, target_node]) AS f
    INNER JOIN pgblend_data.collection AS c ON c.id = f.collection_id;
    RETURN pgblend._store_edges(ARRAY[ROW(
        source_node, false, target_node, edge_type, 'hand', 0, 0, NULL, NULL, NULL, weight,
        pgblend._uncontrolled_json(metadata))::pgblend_data.edge]) > 0;
END;
$function$;

-- delete_edge: delete the edges between two nodes that were added by hand or from data; returns how
-- many.
-- NULL edge_type is all types. What a text says stays: it would come back with the next ingest.
CREATE OR REPLACE FUNCTION blend.delete_edge(
    source text,
    target text,
    edge_type text DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    source_node bigint := pgblend._node_id(source);
    target_node bigint := pgblend._node_id(target);
    deleted bigint;
BEGIN
    DELETE FROM pgblend_data.link AS l
    WHERE source_node & 3 = 0 AND target_node & 3 = 0
        AND l.document_id = source_node >> 2 AND l.target_document_id = target_node >> 2
        AND l.origin = 'data'
        AND l.edge_type = coalesce(delete_edge.edge_type, l.edge_type);
    DELETE FROM pgblend_data.edge AS e
    WHERE e.node = target_node AND e.is_reverse AND e.neighbour = source_node
        AND e.origin IN ('data', 'hand')
        AND e.edge_type = coalesce(delete_edge.edge_type, e.edge_type);
    DELETE FROM pgblend_data.edge AS e
    WHERE e.node = source_node AND NOT e.is_reverse AND e.neighbour = target_node
        AND e.origin IN ('data', 'hand')
        AND e.edge_type = coalesce(delete_edge.edge_type, e.edge_type);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END;
$function$;

-- _store_edges: store edges, each as two rows, one with each of its ends; returns how many are new.
-- node and neighbour are an edge's source and target. Collections and bucket need not be given:
-- they are those of the ends. A stored edge gets the new weight and metadata. An edge with an end
-- that is missing or hidden is left out. On a shard it is taken to be on another one where its
-- collection and bucket are given: so both rows are where the edge is said.
CREATE OR REPLACE FUNCTION pgblend._store_edges(edges pgblend_data.edge[])
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    added bigint;
BEGIN
    WITH known AS MATERIALIZED (
        SELECT f.node, f.collection_id, f.bucket
        FROM pgblend._node_facts(ARRAY(
            SELECT e.node FROM unnest(edges) AS e
            UNION
            SELECT e.neighbour FROM unnest(edges) AS e)) AS f
    ), facts AS MATERIALIZED (
        SELECT k.* FROM known AS k
        UNION ALL
        SELECT DISTINCT ON (n.node) n.node, n.collection_id, NULL::smallint
        FROM unnest(edges) AS e
        CROSS JOIN LATERAL (
            VALUES (e.node, e.collection_id), (e.neighbour, e.neighbour_collection_id)
        ) AS n (node, collection_id)
        WHERE n.collection_id IS NOT NULL AND EXISTS (SELECT FROM pgblend_data.shard_self)
            AND NOT EXISTS (SELECT FROM known AS k WHERE k.node = n.node)
    ), stored AS (
        INSERT INTO pgblend_data.edge AS e (
            node, is_reverse, neighbour, edge_type, origin, document_id, chunk_id, collection_id,
            neighbour_collection_id, bucket, weight, metadata)
        SELECT
            own.node, way.is_reverse, other.node, g.edge_type, g.origin, g.document_id, g.chunk_id,
            own.collection_id, other.collection_id, coalesce(own.bucket, g.bucket), g.weight,
            g.metadata
        FROM unnest(edges) AS g
        CROSS JOIN LATERAL (
            VALUES (false, g.node, g.neighbour), (true, g.neighbour, g.node)
        ) AS way (is_reverse, node, neighbour)
        INNER JOIN facts AS own ON own.node = way.node
        INNER JOIN facts AS other ON other.node = way.neighbour
        ON CONFLICT ON CONSTRAINT edge_pkey DO UPDATE
        SET weight = excluded.weight, metadata = excluded.metadata
        WHERE (e.weight, e.metadata) <> (excluded.weight, excluded.metadata)
        RETURNING e.xmax = 0 AND NOT e.is_reverse AS is_new
    )

    SELECT count(*) FILTER (WHERE s.is_new) INTO added FROM stored AS s;
    RETURN added;
END;
$function$;

-- _edge_check_ends: trigger that refuses edges whose ends or source are not of the collections that
-- they name.
-- Definer, since row security of what it looks up would cost most of the time. Row security of the
-- edges lets them name collections that the caller may write or see. What the caller may not see is
-- refused in the same words as what is not there. It looks once at all rows of a statement; a
-- policy would look up each, in a plan of many subqueries. On a shard an end that is not here is on
-- another one: of which collection it is, the coordinator looks at before it follows the edge.
CREATE OR REPLACE FUNCTION pgblend._edge_check_ends()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    is_shard CONSTANT boolean := EXISTS (SELECT FROM pgblend_data.shard_self);
    stray bigint;
BEGIN
    SELECT n.node INTO stray
    FROM (
        SELECT e.node, e.collection_id, e.collection_id AS other_collection_id, is_shard AS may_be_far
        FROM new_edge AS e
        UNION
        SELECT e.neighbour, e.neighbour_collection_id, e.neighbour_collection_id, is_shard
        FROM new_edge AS e
        UNION
        SELECT e.document_id * 4, e.collection_id, e.neighbour_collection_id, false
        FROM new_edge AS e
        WHERE e.document_id <> 0 AND (is_shard OR e.document_id * 4 NOT IN (e.node, e.neighbour))
        UNION
        SELECT e.chunk_id * 4 + 1, e.collection_id, e.neighbour_collection_id, false
        FROM new_edge AS e
        WHERE e.chunk_id <> 0
    ) AS n
    WHERE (
        coalesce(
            CASE n.node & 3
                WHEN 0 THEN (
                    SELECT d.collection_id FROM pgblend_data.document AS d WHERE d.id = n.node >> 2)
                WHEN 1 THEN (
                    SELECT c.collection_id FROM pgblend_data.chunk AS c WHERE c.id = n.node >> 2)
                WHEN 2 THEN (
                    SELECT t.collection_id FROM pgblend_data.entity AS t WHERE t.id = n.node >> 2)
            END,
            CASE WHEN n.may_be_far THEN n.collection_id END
        ) IN (n.collection_id, n.other_collection_id)) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'an edge names a node that is not of its collections'
            USING ERRCODE = '42501',
            DETAIL = format('It names %s.', pgblend._node_name(stray)),
            HINT = 'add_edge(source, target) stores edges of two nodes.';
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER edge_10_check_ends AFTER INSERT ON pgblend_data.edge
REFERENCING NEW TABLE AS new_edge
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._edge_check_ends();
CREATE OR REPLACE TRIGGER edge_10_check_other_ends AFTER UPDATE ON pgblend_data.edge
REFERENCING NEW TABLE AS new_edge
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._edge_check_ends();

-- _link_check_target: trigger that refuses links to documents of another collection.
-- Definer, and with one message for hidden and missing documents, as _edge_check_ends; a document
-- that is not on this shard is on another.
CREATE OR REPLACE FUNCTION pgblend._link_check_target()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    stray bigint;
BEGIN
    SELECT n.id INTO stray
    FROM (
        SELECT DISTINCT l.target_document_id AS id, l.collection_id
        FROM new_link AS l
        WHERE l.target_document_id IS NOT NULL
    ) AS n
    WHERE n.collection_id IS DISTINCT FROM coalesce(
        (SELECT d.collection_id FROM pgblend_data.document AS d WHERE d.id = n.id),
        CASE WHEN EXISTS (SELECT FROM pgblend_data.shard_self) THEN n.collection_id END)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a link leads to a document that is not of its collection'
            USING ERRCODE = '42501', DETAIL = format('It leads to document:%s.', stray),
            HINT = 'add_links(collection, source_key, links) stores links of a document.';
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER link_10_check_target AFTER INSERT ON pgblend_data.link
REFERENCING NEW TABLE AS new_link
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._link_check_target();
CREATE OR REPLACE TRIGGER link_10_check_other_target AFTER UPDATE ON pgblend_data.link
REFERENCING NEW TABLE AS new_link
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._link_check_target();

-- _node_drop_edges: trigger that deletes the edges of deleted chunks or documents, and entities
-- without an edge.
-- Edges that they told of go as well. Links to a deleted document dangle, or lead to another
-- document of the name.
CREATE OR REPLACE FUNCTION pgblend._node_drop_edges()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    are_chunks CONSTANT boolean := TG_TABLE_NAME = 'chunk';
    ids bigint[] := ARRAY(SELECT o.id FROM old_row AS o);
    nodes bigint[] := ARRAY(SELECT id * 4 + are_chunks::integer FROM unnest(ids) AS id);
    ends bigint[];
    neighbours bigint[];
    unled record;
BEGIN
    IF are_chunks THEN
        WITH gone AS (
            DELETE FROM pgblend_data.edge AS e
            WHERE e.chunk_id = ANY(ids) AND e.chunk_id <> 0 RETURNING e.node
        )

        SELECT array_agg(DISTINCT g.node) INTO ends FROM gone AS g;
    ELSE
        WITH gone AS (
            DELETE FROM pgblend_data.edge AS e
            WHERE e.document_id = ANY(ids) AND e.document_id <> 0 RETURNING e.node
        )

        SELECT array_agg(DISTINCT g.node) INTO ends FROM gone AS g;
        WITH dangling AS (
            UPDATE pgblend_data.link AS l SET target_document_id = NULL
            WHERE l.target_document_id = ANY(ids)
            RETURNING l.collection_id, l.name
        )

        SELECT array_agg(d.collection_id) AS collections, array_agg(d.name) AS names
        INTO unled
        FROM dangling AS d;
        PERFORM pgblend._resolve_links(l.collection_id, array_agg(DISTINCT l.name))
        FROM unnest(unled.collections, unled.names) AS l (collection_id, name)
        GROUP BY l.collection_id;
    END IF;
    WITH gone AS (
        DELETE FROM pgblend_data.edge AS e WHERE e.node = ANY(nodes)
        RETURNING e.neighbour
    )

    SELECT array_agg(DISTINCT g.neighbour) INTO neighbours FROM gone AS g;
    DELETE FROM pgblend_data.edge AS e
    WHERE e.node = ANY(neighbours) AND e.neighbour = ANY(nodes);
    PERFORM pgblend._drop_lone_entities(
        ends || neighbours, (SELECT min(o.collection_id) FROM old_row AS o));
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_80_drop_edges AFTER DELETE ON pgblend_data.chunk
REFERENCING OLD TABLE AS old_row
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._node_drop_edges();
CREATE OR REPLACE TRIGGER document_30_drop_edges AFTER DELETE ON pgblend_data.document
REFERENCING OLD TABLE AS old_row
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._node_drop_edges();

-- _document_clear_edges: trigger that empties the graph when documents are truncated.
CREATE OR REPLACE FUNCTION pgblend._document_clear_edges()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    TRUNCATE pgblend_data.edge, pgblend_data.entity;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER document_40_clear_edges AFTER TRUNCATE ON pgblend_data.document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_clear_edges();
