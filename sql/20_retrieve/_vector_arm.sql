-- _vector_arm: candidates nearest to a query vector by cosine distance, ranks from 1.
-- All ties at the cut come back from the scan and are cut by (document, chunk index). The inner
-- query orders by the distance alone, or PostgreSQL 15 does not use the HNSW index; an iterative
-- scan goes on until enough rows pass the filter. 'auto' compares all vectors where there are few,
-- which misses nothing (adding 0 to the distance hides the index). Otherwise the planner, who takes
-- stored vectors for cheaper to read than they are, may choose only where a condition could make
-- another way the better one: without sorting, the index is the only one left. A zero vector has no
-- direction, its distance is NaN: it is no candidate, as in the index. Where `binding_query` is
-- given, its phrases and exclusions must hold. The SET clauses put the caller's values back:
-- set_config inside lasts to the end of the function, not of the transaction.
CREATE OR REPLACE FUNCTION pgblend._vector_arm(
    query_embedding vector,
    space pgblend_data.embedding_space,
    collection_ids bigint[],
    binding_query text,
    filter jsonb,
    settings jsonb
)
RETURNS TABLE (
    rank bigint,
    chunk_id bigint,
    document_id bigint,
    chunk_index integer,
    cosine double precision
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 100
SET search_path FROM CURRENT
SET "hnsw.ef_search" = 40
SET "hnsw.iterative_scan" = off
SET enable_sort = on
SET jit = off
AS $function$
DECLARE
    depth integer := settings ->> 'candidate_depth';
    scan text := settings ->> 'vector_scan';
    condition text := 'e.collection_id = ANY($2)';
    exact text := '';
    compiled record;
    configs text[];
    conditions tsquery[];
BEGIN
    IF NOT EXISTS (
        SELECT FROM pgblend_data.collection AS c WHERE c.id <> ALL(collection_ids)
    ) THEN
        condition := 'true';  -- every visible collection: row security restricts already
    END IF;
    SELECT f.* INTO compiled FROM pgblend._filter_condition(filter, 3) AS f;
    IF filter IS NOT NULL OR settings ->> 'language' IS NOT NULL THEN
        condition := format('%s AND EXISTS (
            SELECT FROM pgblend_data.chunk AS c
            INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
            WHERE c.id = e.chunk_id
                AND c.text_search_config = coalesce($5, c.text_search_config)
                AND %s)', condition, coalesce(compiled.on_chunk, 'true'));
    END IF;
    SELECT array_agg(b.config_name), array_agg(b.condition) INTO configs, conditions
    FROM pgblend._binding_conditions(binding_query, collection_ids) AS b;
    IF configs IS NOT NULL THEN
        condition := condition || ' AND EXISTS (
            SELECT FROM pgblend_data.chunk AS c
            WHERE c.id = e.chunk_id
                AND coalesce(c.lexemes @@ $7[array_position($6, c.text_search_config)], true))';
    END IF;
    IF scan = 'exact' OR scan = 'auto' AND pgblend._few_vectors(space, collection_ids) THEN
        exact := ' + 0';
    ELSIF scan = 'index' OR condition = 'true' THEN
        PERFORM set_config('enable_sort', 'off', true);
    END IF;
    PERFORM set_config('hnsw.ef_search', settings ->> 'ef_search', true);
    PERFORM set_config('hnsw.iterative_scan', 'strict_order', true);
    RETURN QUERY EXECUTE format(
        'SELECT row_number() OVER (ORDER BY n.distance, n.document_id, n.chunk_index),
            n.chunk_id, n.document_id, n.chunk_index, 1 - n.distance
        FROM (
            SELECT e.chunk_id, e.document_id, e.chunk_index, e.embedding <=> $1::%1$s AS distance
            FROM pgblend_data.%2$I AS e
            WHERE %3$s
            ORDER BY (e.embedding <=> $1::%1$s)%4$s
            FETCH FIRST $4 ROWS WITH TIES
        ) AS n
        WHERE n.distance < ''NaN''
        ORDER BY 1
        LIMIT $4',
        format('%I(%s)', space.storage, space.dimensions), space.table_name, condition, exact)
    USING query_embedding, collection_ids, compiled.operands, depth, settings ->> 'language', configs,
        conditions;
END;
$function$;

COMMENT ON FUNCTION pgblend._vector_arm(
    vector, pgblend_data.embedding_space, bigint[], text, jsonb, jsonb
) IS
'The vectors'' candidates: passages nearest to a query vector by cosine distance, best first, '
'ranks from 1, ties by (document, chunk index). Settings: candidate_depth, ef_search, vector_scan, '
'language.';
