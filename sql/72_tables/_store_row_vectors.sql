-- _store_row_vectors: give the first passage of each row's document the vector that the row has.
-- One that is the same is left alone. A row without a vector that the space can hold takes away
-- the one that there was, which was another text's. attached_vectors tells of those.
CREATE OR REPLACE FUNCTION pgblend._store_row_vectors(
    attached pgblend_data.attached_table,
    rows pgblend_data.attached_row[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.embedding_space;
BEGIN
    SELECT s.* INTO STRICT target FROM pgblend_data.embedding_space AS s
    WHERE s.name = attached.space;
    -- Calls in text: _as_vector, _vector_problem (a space's table).
    EXECUTE format(
        'WITH given AS MATERIALIZED (
            SELECT c.id, c.document_id, c.chunk_index, c.collection_id, c.bucket, v.embedding,
                pgblend._vector_problem(v.embedding, $3, $4) IS NULL AS is_right
            FROM unnest($1) AS r
            INNER JOIN pgblend_data.document AS d
                ON d.collection_id = $2 AND d.source_key = r.key
            INNER JOIN pgblend_data.chunk AS c ON c.document_id = d.id AND c.chunk_index = 0
            CROSS JOIN LATERAL (
                SELECT pgblend._as_vector(r.embedding) AS embedding OFFSET 0) AS v
        ), gone AS (
            DELETE FROM pgblend_data.%1$I AS e
            USING given AS g
            WHERE e.chunk_id = g.id AND NOT g.is_right
        )
        INSERT INTO pgblend_data.%1$I AS e (
            chunk_id, document_id, chunk_index, collection_id, bucket, embedding)
        SELECT g.id, g.document_id, g.chunk_index, g.collection_id, g.bucket, g.embedding
        FROM given AS g
        WHERE g.is_right
        ORDER BY g.id
        ON CONFLICT (chunk_id) DO UPDATE SET embedding = excluded.embedding
        WHERE NOT record_image_eq(ROW(e.embedding), ROW(excluded.embedding))',
        target.table_name)
    USING rows, attached.collection_id, target.dimensions, target.storage;
END;
$function$;
