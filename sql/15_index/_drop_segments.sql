-- _drop_segments: delete a collection's segments; its chunks are then missing from the index.
-- Tombstones stay: those of chunks in no segment do nothing, and the next seal takes them.
-- Runs with its owner's rights, for a transaction that holds the collection's claim; else 42501.
CREATE OR REPLACE FUNCTION pgblend._drop_segments(collection_id bigint)
RETURNS void
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
BEGIN ATOMIC
    SELECT pgblend._check_index_claim(_drop_segments.collection_id);

    WITH dropped AS (
        DELETE FROM pgblend_data.segment AS s
        WHERE s.collection_id = _drop_segments.collection_id
        RETURNING s.id
    )

    DELETE FROM pgblend_data.posting AS p
    USING dropped AS d
    WHERE p.segment_id = d.id;
END;
