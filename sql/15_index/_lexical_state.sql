-- _lexical_state: what a search has to look at, as one row: segments, deleted chunks, pending
-- chunks.
-- Arrays have one entry a segment, in the order of ids; bytes are those that plpy/unpack_pending.py
-- reads. Of all languages where config_name is NULL.
CREATE OR REPLACE FUNCTION pgblend._lexical_state(collection_ids bigint[], config_name text)
RETURNS TABLE (
    segment_ids bigint[],
    versions text[],
    tombstones bytea,
    chunk_ids bytea,
    document_ids bytea,
    chunk_indexes bytea,
    lengths bytea,
    own_lengths bytea,
    record_counts bytea,
    records bytea
)
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH sealed AS (
        SELECT
            coalesce(array_agg(g.id ORDER BY g.id), '{}') AS segment_ids,
            coalesce(array_agg(g.xmin || g.dead_digest ORDER BY g.id), '{}') AS versions
        FROM pgblend_data.segment AS g
        WHERE
            g.collection_id = ANY(collection_ids)
            AND g.text_search_config = coalesce(config_name, g.text_search_config)
    ),

    deleted AS (
        SELECT string_agg(int8send(b.chunk_id), '' ORDER BY b.chunk_id) AS tombstones
        FROM pgblend_data.tombstone AS b
        WHERE
            b.collection_id = ANY(collection_ids)
            AND b.text_search_config = coalesce(config_name, b.text_search_config)
    ),

    waiting AS (
        SELECT
            string_agg(int8send(c.chunk_id), '' ORDER BY c.chunk_id) AS chunk_ids,
            string_agg(int8send(c.document_id), '' ORDER BY c.chunk_id) AS document_ids,
            string_agg(int4send(c.chunk_index), '' ORDER BY c.chunk_id) AS chunk_indexes,
            string_agg(int4send(c.length), '' ORDER BY c.chunk_id) AS lengths,
            string_agg(int4send(c.own_length), '' ORDER BY c.chunk_id) AS own_lengths,
            string_agg(int4send(octet_length(c.records) / 14), '' ORDER BY c.chunk_id)
                AS record_counts,
            string_agg(c.records, '' ORDER BY c.chunk_id) AS records
        FROM pgblend_data.pending AS c
        WHERE
            c.collection_id = ANY(collection_ids)
            AND c.text_search_config = coalesce(config_name, c.text_search_config)
    )

    SELECT
        s.segment_ids,
        s.versions,
        d.tombstones,
        w.chunk_ids,
        w.document_ids,
        w.chunk_indexes,
        w.lengths,
        w.own_lengths,
        w.record_counts,
        w.records
    FROM sealed AS s
    CROSS JOIN deleted AS d
    CROSS JOIN waiting AS w;
END;

COMMENT ON FUNCTION pgblend._lexical_state(bigint[], text) IS
'What a search has to look at, as one row of arrays: segments, deleted chunks, pending chunks.';
