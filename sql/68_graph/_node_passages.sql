-- _node_passages: the passage that stands for each of some nodes, of those that a search may find.
-- A passage stands for itself. A document is shown by the passage nearest to the query's vector,
-- without a vector by its first. Entities have none. chunk_id 0 is a node that is gone. What the
-- collections, the filter and the language leave out gives no row.
CREATE OR REPLACE FUNCTION pgblend._node_passages(
    nodes bigint[],
    collection_ids bigint[],
    filter jsonb,
    language text,
    query_embedding vector,
    space text
)
RETURNS TABLE (node bigint, chunk_id bigint, document_id bigint, chunk_index integer)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 100
AS $function$
DECLARE
    vectors pgblend_data.embedding_space;
    compiled record;
BEGIN
    SELECT s.* INTO vectors FROM pgblend_data.embedding_space AS s WHERE s.name = space;
    SELECT f.* INTO compiled FROM pgblend._filter_condition(CASE
        WHEN language IS NULL THEN filter
        ELSE jsonb_build_object('and', jsonb_build_array(
            jsonb_build_object('$language', language), coalesce(filter, '{}'))) END, 3) AS f;
    -- Calls in text: _iso_timestamp (a filter's conditions).
    RETURN QUERY EXECUTE format(
        'SELECT DISTINCT ON (n.node) n.node, c.id, c.document_id, c.chunk_index
        FROM unnest($1) AS n (node)
        INNER JOIN pgblend_data.chunk AS c
            ON n.node & 3 = 0 AND c.document_id = n.node >> 2
                OR n.node & 3 = 1 AND c.id = n.node >> 2
        INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
        %s
        WHERE c.collection_id = ANY($2) AND %s
        ORDER BY n.node, %s c.chunk_index',
        CASE WHEN vectors.name IS NOT NULL AND query_embedding IS NOT NULL THEN format(
            'LEFT JOIN pgblend_data.%I AS e ON e.chunk_id = c.id AND n.node & 3 = 0',
            vectors.table_name) ELSE '' END,
        coalesce(compiled.on_chunk, 'true'),
        CASE WHEN vectors.name IS NOT NULL AND query_embedding IS NOT NULL THEN format(
            'e.embedding <=> (SELECT $4::%s), ', vectors.vector_type) ELSE '' END)
    USING nodes, collection_ids, compiled.operands, query_embedding;
    RETURN QUERY
    SELECT n, 0::bigint, 0::bigint, 0
    FROM unnest(nodes) AS n
    WHERE n & 3 < 2 AND NOT EXISTS (SELECT FROM pgblend._node_facts(ARRAY[n]));
END;
$function$;
