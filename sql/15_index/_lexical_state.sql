-- _lexical_state: what a search has to look at, as one row: segments, deleted chunks, pending
-- chunks.
-- Segments are ids and versions, in the order of ids. tombstones are the ids of deleted chunks (8
-- bytes each), pending those of chunks that are not sealed and the transactions that added them (12
-- bytes each), both in any order and NULL for none.
CREATE OR REPLACE FUNCTION pgblend._lexical_state(collection_ids bigint[])
RETURNS TABLE (segment_ids bigint[], versions text[], tombstones bytea, pending bytea)
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        s.segment_ids,
        s.versions,
        (
            SELECT string_agg(int8send(b.chunk_id), '')
            FROM pgblend_data.tombstone AS b
            WHERE b.collection_id = ANY(_lexical_state.collection_ids)
        ) AS tombstones,
        (
            SELECT string_agg(int8send(c.chunk_id) || xidsend(c.xmin), '')
            FROM pgblend_data.pending AS c
            WHERE c.collection_id = ANY(_lexical_state.collection_ids)
        ) AS pending
    FROM (
        SELECT
            coalesce(array_agg(g.id ORDER BY g.id), '{}') AS segment_ids,
            coalesce(array_agg(g.xmin || g.dead_digest ORDER BY g.id), '{}') AS versions
        FROM pgblend_data.segment AS g
        WHERE g.collection_id = ANY(_lexical_state.collection_ids)
    ) AS s;
END;
