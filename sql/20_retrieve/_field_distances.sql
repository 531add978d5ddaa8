-- _field_distances: how far values of chunks are from origins, one for each key.
-- An origin is JSON: a number, which numbers are compared with, or a text, "now" or a date of ISO
-- 8601, which dates are; their distance is in days. `place` counts the keys from 0. Of an array the
-- nearest value counts. Where there is no such value there is no row. Keys are those of filters.
CREATE OR REPLACE FUNCTION pgblend._field_distances(
    chunk_ids bigint[],
    keys text[],
    origins text[]
)
RETURNS TABLE (place integer, chunk_id bigint, distance double precision)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 200
BEGIN ATOMIC
    WITH compared AS (
        SELECT
            v.key_place,
            v.chunk_id,
            CASE
                WHEN jsonb_typeof(o.origin::jsonb) = 'string'
                    THEN abs(extract(
                        EPOCH FROM pgblend._iso_timestamp(v.value #>> '{}')
                        - coalesce(pgblend._iso_timestamp(o.origin::jsonb #>> '{}'), now())
                    )) / 86400
                WHEN jsonb_typeof(v.value) = 'number'
                    THEN abs(v.value::numeric - o.origin::numeric)
            END AS distance
        FROM pgblend._field_values(chunk_ids, keys) AS v
        INNER JOIN unnest(origins) WITH ORDINALITY AS o (origin, place) ON v.key_place = o.place
    )

    SELECT
        c.key_place::integer - 1 AS place,
        c.chunk_id,
        min(c.distance)::double precision AS distance
    FROM compared AS c
    WHERE c.distance < 1e30  -- what a double holds, and no NULL
    GROUP BY c.key_place, c.chunk_id;
END;
