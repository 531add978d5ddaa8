-- _vector_scan: the statement that finds the vectors nearest to $1, the first $4, as arrays, which
-- are NULL where there are none.
-- `conditions` begin with AND and are about e, the table of the space. All ties at the cut come
-- back from the scan and are cut by (document, chunk index). The inner query orders by the distance
-- alone, or PostgreSQL 15 does not use the HNSW index; adding 0 to the distance hides the index. A
-- zero vector has no direction, its distance is NaN: it is no candidate, as in the index. The index
-- of a binary space gives the first $8 by Hamming distance of the signs, of which the stored
-- vectors choose.
CREATE OR REPLACE FUNCTION pgblend._vector_scan(
    space pgblend_data.embedding_space,
    conditions text,
    is_exact boolean
)
RETURNS text
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN format(
        'SELECT
            array_agg(p.chunk_id) AS chunk_ids,
            array_agg(p.document_id) AS document_ids,
            array_agg(p.chunk_index) AS chunk_indexes,
            array_agg(1 - p.distance) AS cosines
        FROM (
            SELECT n.*
            FROM (
                SELECT e.chunk_id, e.document_id, e.chunk_index,
                    e.embedding <=> $1::%1$s AS distance
                FROM %2$s AS e
                ORDER BY (e.embedding <=> $1::%1$s)%3$s
                FETCH FIRST $4 ROWS WITH TIES
            ) AS n
            WHERE n.distance < ''NaN''
            ORDER BY n.distance, n.document_id, n.chunk_index
            LIMIT $4
        ) AS p',
        space.vector_type,
        CASE
            WHEN space.storage = 'binary' AND NOT is_exact THEN format(
                '(
                    SELECT e.chunk_id, e.document_id, e.chunk_index, e.embedding
                    FROM pgblend_data.%1$I AS e
                    WHERE true%2$s
                    ORDER BY binary_quantize(e.embedding)::bit(%3$s)
                        <~> binary_quantize($1::%4$s)::bit(%3$s)
                    LIMIT $8
                )',
                space.table_name, conditions, space.dimensions, space.vector_type)
            ELSE format(
                '(SELECT * FROM pgblend_data.%I AS e WHERE true%s)', space.table_name, conditions)
        END,
        CASE WHEN is_exact OR space.storage = 'binary' THEN ' + 0' ELSE '' END);
END;
$function$;
