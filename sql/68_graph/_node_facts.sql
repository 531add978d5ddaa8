-- _node_facts: what nodes are: kind, document, chunk, entity, title; and which part of the store
-- they belong to.
-- A document without a title is called by its source key, a passage by its document and heading, or
-- by its place. One that is not there, or that the caller may not see, gives no row.
CREATE OR REPLACE FUNCTION pgblend._node_facts(nodes bigint[])
RETURNS TABLE (
    node bigint,
    kind text,
    document_id bigint,
    chunk_id bigint,
    entity_id bigint,
    collection_id bigint,
    bucket smallint,
    title text,
    source_key text
)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 100
AS $function$
BEGIN
    RETURN QUERY
    SELECT n, 'document', d.id, NULL::bigint, NULL::bigint, d.collection_id, d.bucket,
        coalesce(nullif(d.title, ''), d.source_key), d.source_key
    FROM unnest(nodes) AS n
    INNER JOIN pgblend_data.document AS d ON d.id = n >> 2
    WHERE n & 3 = 0
    UNION ALL
    SELECT n, 'chunk', d.id, c.id, NULL, c.collection_id, c.bucket,
        coalesce(nullif(d.title, ''), d.source_key) || ': '
            || coalesce(nullif(c.heading, ''), 'passage ' || c.chunk_index + 1),
        d.source_key
    FROM unnest(nodes) AS n
    INNER JOIN pgblend_data.chunk AS c ON c.id = n >> 2
    INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
    WHERE n & 3 = 1
    UNION ALL
    SELECT n, 'entity', NULL, NULL, t.id, t.collection_id, t.bucket, t.name, NULL
    FROM unnest(nodes) AS n
    INNER JOIN pgblend_data.entity AS t ON t.id = n >> 2
    WHERE n & 3 = 2;
END;
$function$;
