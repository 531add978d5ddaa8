-- _take_pending: delete up to 20,000 pending chunks and return them as one row of arrays.
-- Chunks that another transaction is deleting are left to it. Rows are deleted by where they lie
-- (nothing updates them): a join would be planned by statistics that an ingest has outrun.
CREATE OR REPLACE FUNCTION pgblend._take_pending(collection_id bigint, config_name text)
RETURNS TABLE (
    chunk_ids bytea,
    document_ids bytea,
    chunk_indexes bytea,
    lengths bytea,
    own_lengths bytea,
    record_counts bytea,
    records bytea
)
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    WITH taken AS (
        DELETE FROM pgblend_data.pending AS p
        WHERE p.ctid = ANY(ARRAY(
            SELECT w.ctid
            FROM pgblend_data.pending AS w
            WHERE
                w.collection_id = _take_pending.collection_id
                AND w.text_search_config = config_name
            ORDER BY w.chunk_id
            LIMIT 20000
            FOR UPDATE SKIP LOCKED
        ))
        RETURNING p.*
    )

    SELECT
        string_agg(int8send(t.chunk_id), '' ORDER BY t.chunk_id) AS chunk_ids,
        string_agg(int8send(t.document_id), '' ORDER BY t.chunk_id) AS document_ids,
        string_agg(int4send(t.chunk_index), '' ORDER BY t.chunk_id) AS chunk_indexes,
        string_agg(int4send(t.length), '' ORDER BY t.chunk_id) AS lengths,
        string_agg(int4send(t.own_length), '' ORDER BY t.chunk_id) AS own_lengths,
        string_agg(int4send(octet_length(t.records) / 14), '' ORDER BY t.chunk_id) AS record_counts,
        string_agg(t.records, '' ORDER BY t.chunk_id) AS records
    FROM taken AS t;
END;
