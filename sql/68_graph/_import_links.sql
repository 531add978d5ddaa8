-- _import_links: add links from the temporary table link_stage (source_key, target, edge_type,
-- weight, metadata).
-- Returns how many were stored, how many of those dangle, and which sources are unknown. Stored
-- links with the same source, target and type are replaced.
CREATE OR REPLACE FUNCTION pgblend._import_links(
    collection text,
    OUT stored bigint,
    OUT dangling bigint,
    OUT unknown_sources text[]
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._writable_collection(collection);
    sources bigint[];
    links jsonb[];
    last_id bigint;
BEGIN
    ANALYZE pg_temp.link_stage;  -- else the planner takes it for small
    WITH asked AS MATERIALIZED (
        SELECT d.id, s.target, s.edge_type
        FROM pg_temp.link_stage AS s
        INNER JOIN pgblend_data.document AS d
            ON d.collection_id = target.id AND d.source_key = s.source_key
    )

    DELETE FROM pgblend_data.link AS l
    USING asked AS a
    WHERE l.document_id = a.id AND l.origin = 'data' AND l.kind = 'key'
        AND l.target = a.target AND l.edge_type = a.edge_type;
    SELECT coalesce(max(l.id), 0) INTO last_id FROM pgblend_data.link AS l;
    SELECT
        coalesce(array_agg(d.id ORDER BY s.place), '{}'),
        coalesce(array_agg(jsonb_build_array(jsonb_build_object(
            'target', s.target, 'type', s.edge_type, 'weight', s.weight, 'metadata', s.metadata))
            ORDER BY s.place), '{}')
    INTO sources, links
    FROM (
        SELECT DISTINCT ON (t.source_key, t.target, t.edge_type) t.*
        FROM pg_temp.link_stage AS t
        ORDER BY t.source_key, t.target, t.edge_type, t.place
    ) AS s
    INNER JOIN pgblend_data.document AS d
        ON d.collection_id = target.id AND d.source_key = s.source_key;
    stored := pgblend._insert_links(target.id, sources, links, 'data');
    SELECT count(*) INTO dangling
    FROM pgblend_data.link AS l
    WHERE l.collection_id = target.id AND l.id > last_id AND l.target_document_id IS NULL;
    unknown_sources := ARRAY(
        SELECT DISTINCT s.source_key FROM pg_temp.link_stage AS s
        WHERE NOT EXISTS (
            SELECT FROM pgblend_data.document AS d
            WHERE d.collection_id = target.id AND d.source_key = s.source_key)
        ORDER BY s.source_key);
END;
$function$;
