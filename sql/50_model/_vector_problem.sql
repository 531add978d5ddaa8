-- _vector_problem: what hinders that a vector is stored in a space, as the end of a sentence; NULL
-- where nothing does.
-- Cosines of a vector whose squared length is beyond what a real holds are NaN, so such vectors
-- are refused as those without direction are.
CREATE OR REPLACE FUNCTION pgblend._vector_problem(
    embedding vector,
    dimensions integer,
    storage text
)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN embedding IS NULL THEN 'is NULL'
    WHEN vector_dims(embedding) <> dimensions
        THEN format('has %s dimensions, not %s', vector_dims(embedding), dimensions)
    WHEN vector_norm(embedding) = 0 THEN 'is zero in all dimensions, so it has no direction'
    WHEN vector_norm(embedding) NOT BETWEEN 1e-15 AND 1e15
        THEN format('has the length %s: expected 1e-15 to 1e15', vector_norm(embedding)::real)
    WHEN storage <> 'vector' AND vector_norm(embedding) > 65504 AND (
        SELECT max(abs(n.number)) FROM unnest(embedding::real[]) AS n (number)) > 65504
        THEN format('has numbers beyond 65504, the most that storage %s holds', storage)
    WHEN storage <> 'vector' AND vector_norm(embedding) < 1e-3
        AND l2_norm(embedding::halfvec) = 0
        THEN format('is zero in all dimensions once it is stored as %s', storage)
END;
