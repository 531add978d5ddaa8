-- count_vectors: how far an embedding space (NULL: each) is filled, and its size.
-- It counts what the caller may read; bytes are of all collections, and NULL but for admins. dead
-- chunks were given up. missing ones neither have a vector nor wait for one; queue_missing_vectors
-- queues them. Where callers or the rows of an attached table bring the vectors, none is missing.
-- An unknown space gives no row.
CREATE OR REPLACE FUNCTION blend.count_vectors(space text DEFAULT NULL)
RETURNS TABLE (
    name text,
    chunks bigint,
    vectors bigint,
    waiting bigint,
    dead bigint,
    missing bigint,
    table_bytes bigint,
    index_bytes bigint
)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 2
AS $function$
DECLARE
    counted pgblend_data.embedding_space;
BEGIN
    FOR counted IN
        SELECT s.* FROM pgblend_data.embedding_space AS s
        WHERE s.name = coalesce(space, s.name)
        ORDER BY s.name
    LOOP
        name := counted.name;
        -- Calls in text: _first_embedded (a space's table).
        EXECUTE format(
            'SELECT count(*), count(e.chunk_id),
                count(*) FILTER (WHERE c.chunk_index >= w.first_index AND e.chunk_id IS NULL
                    AND NOT EXISTS (
                    SELECT FROM pgblend_data.embedding_queue AS q
                    WHERE q.space = $1 AND q.chunk_id = c.id))
            FROM pgblend_data.chunk AS c
            INNER JOIN (
                SELECT o.id, pgblend._first_embedded($2, o.id) AS first_index
                FROM pgblend_data.collection AS o OFFSET 0
            ) AS w ON w.id = c.collection_id
            LEFT JOIN pgblend_data.%I AS e ON e.chunk_id = c.id', counted.table_name)
        INTO chunks, vectors, missing USING counted.name, counted;
        SELECT count(*) FILTER (WHERE q.dead_at IS NULL), count(q.dead_at) INTO waiting, dead
        FROM pgblend_data.embedding_queue AS q WHERE q.space = counted.name;
        IF pg_has_role('pgblend_admin', 'USAGE') THEN
            table_bytes := pg_table_size(format('pgblend_data.%I', counted.table_name)::regclass);
            index_bytes := pg_indexes_size(format('pgblend_data.%I', counted.table_name)::regclass);
        END IF;
        RETURN NEXT;
    END LOOP;
END;
$function$;
