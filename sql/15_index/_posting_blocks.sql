-- _posting_blocks: blocks of segments' postings, each with its place in the arguments, from 1.
-- In any order; NULL for a block that is not there. One look-up by key each, analyzed or not: a
-- join might be planned by statistics that an ingest has outrun.
CREATE OR REPLACE FUNCTION pgblend._posting_blocks(segment_ids bigint[], blocks integer[])
RETURNS TABLE (place bigint, data bytea)
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        w.place,
        (
            SELECT p.data
            FROM pgblend_data.posting AS p
            WHERE p.segment_id = w.segment_id AND p.block = w.block
        ) AS data
    FROM unnest(segment_ids, blocks) WITH ORDINALITY AS w (segment_id, block, place);
END;
