-- _write_segment: store one segment and its postings; arrays as plpy/merge_postings.py makes them.
CREATE OR REPLACE FUNCTION pgblend._write_segment(
    collection_id bigint,
    config_name text,
    rows_and_length bigint[],
    row_arrays bytea[],
    terms bigint[],
    starts integer[],
    counts integer[],
    ordinals bytea,
    codes bytea,
    code_bytes integer
)
RETURNS void
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    WITH segment AS (
        INSERT INTO pgblend_data.segment (
            collection_id, text_search_config, n, total_length, chunk_ids, document_ids,
            chunk_indexes, lengths, own_lengths, code_book, bytes
        )
        VALUES (
            _write_segment.collection_id, config_name, rows_and_length[1]::integer,
            rows_and_length[2], row_arrays[1], row_arrays[2], row_arrays[3], row_arrays[4],
            row_arrays[5], row_arrays[6],
            (SELECT sum(octet_length(a.bytes)) FROM unnest(row_arrays) AS a (bytes))
            + octet_length(_write_segment.ordinals) + octet_length(_write_segment.codes)
            + 12 * cardinality(terms)
        )
        RETURNING id
    )

    INSERT INTO pgblend_data.posting (segment_id, term, collection_id, df, ordinals, codes)
    SELECT
        s.id,
        t.term,
        _write_segment.collection_id,
        t.df,
        substr(_write_segment.ordinals, 2 * t.first + 1, 2 * t.df) AS ordinals,
        substr(_write_segment.codes, code_bytes * t.first + 1, code_bytes * t.df) AS codes
    FROM segment AS s
    CROSS JOIN unnest(terms, starts, counts) AS t (term, first, df);
END;

COMMENT ON FUNCTION pgblend._write_segment(
    bigint, text, bigint[], bytea[], bigint[], integer[], integer[], bytea, bytea, integer
) IS 'Store one segment and its postings; arrays as plpy/merge_postings.py makes them.';
