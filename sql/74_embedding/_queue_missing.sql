-- _queue_missing: queue the chunks that a space's model embeds, and that neither have a vector nor
-- wait for one; returns how many.
-- Those of a collection, by its id; NULL: of all. Chunks that are being deleted are left out.
CREATE OR REPLACE FUNCTION pgblend._queue_missing(
    target pgblend_data.embedding_space,
    collection bigint
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    queued bigint;
BEGIN
    -- A foreign key would wait for deletes, which may wait for this, and fail after them.
    -- Calls in text: _first_embedded (a space's table).
    EXECUTE format(
        'INSERT INTO pgblend_data.embedding_queue (
            space, chunk_id, document_id, collection_id, bucket)
        SELECT $1, c.id, c.document_id, c.collection_id, c.bucket
        FROM pgblend_data.chunk AS c
        INNER JOIN (
            SELECT o.id, pgblend._first_embedded($2, o.id) AS first_index
            FROM pgblend_data.collection AS o
            WHERE o.id = coalesce($3, o.id) OFFSET 0
        ) AS w ON c.collection_id = w.id AND c.chunk_index >= w.first_index
        WHERE NOT EXISTS (SELECT FROM pgblend_data.%I AS e WHERE e.chunk_id = c.id)
        FOR KEY SHARE OF c SKIP LOCKED
        ON CONFLICT DO NOTHING', target.table_name)
    USING target.name, target, collection;
    GET DIAGNOSTICS queued = ROW_COUNT;
    RETURN queued;
END;
$function$;
