-- _write_segment: store one segment and its postings, as plpy/lexical/segment.py makes them.
CREATE OR REPLACE FUNCTION pgblend._write_segment(
    collection_id bigint,
    config_name text,
    rows_and_length bigint[],
    row_arrays bytea[],
    blocks bytea[]
)
RETURNS void
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    WITH segment AS (
        INSERT INTO pgblend_data.segment (
            collection_id, text_search_config, n, total_length, chunk_ids, document_ids,
            chunk_indexes, lengths, own_lengths, code_book, terms, document_frequencies, bytes
        )
        VALUES (
            _write_segment.collection_id, config_name, rows_and_length[1]::integer,
            rows_and_length[2], row_arrays[1], row_arrays[2], row_arrays[3], row_arrays[4],
            row_arrays[5], row_arrays[6], row_arrays[7], row_arrays[8],
            (SELECT sum(octet_length(a.bytes)) FROM unnest(row_arrays || blocks) AS a (bytes))
        )
        RETURNING id
    )

    INSERT INTO pgblend_data.posting (segment_id, block, collection_id, data)
    SELECT
        s.id,
        b.place - 1 AS block,
        _write_segment.collection_id,
        b.data
    FROM segment AS s
    CROSS JOIN unnest(blocks) WITH ORDINALITY AS b (data, place);
END;
