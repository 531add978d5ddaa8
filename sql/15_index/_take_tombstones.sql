-- _take_tombstones: delete a collection's tombstones of one language; their ids as sorted int64,
-- NULL for none.
CREATE OR REPLACE FUNCTION pgblend._take_tombstones(collection_id bigint, config_name text)
RETURNS bytea
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    WITH taken AS (
        DELETE FROM pgblend_data.tombstone AS t
        WHERE
            t.collection_id = _take_tombstones.collection_id
            AND t.text_search_config = config_name
        RETURNING t.chunk_id
    )

    SELECT string_agg(int8send(t.chunk_id), '' ORDER BY t.chunk_id)
    FROM taken AS t;
END;
