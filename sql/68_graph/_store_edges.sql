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
