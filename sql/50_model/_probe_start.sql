-- _probe_start: the first 32 numbers of a vector of length 1: enough to know its model again.
-- NULL for NULL; a zero vector stays zero.
CREATE OR REPLACE FUNCTION pgblend._probe_start(embedding real[])
RETURNS real[]
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT
        array_agg((e.value / coalesce(nullif(e.norm, 0), 1))::real ORDER BY e.place)
            FILTER (WHERE e.place <= 32)
    FROM (
        SELECT
            u.value,
            u.place,
            sqrt(sum(u.value::double precision ^ 2) OVER ()) AS norm
        FROM unnest(embedding) WITH ORDINALITY AS u (value, place)
    ) AS e
);
