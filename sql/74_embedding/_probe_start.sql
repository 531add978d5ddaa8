-- _probe_start: the first 32 numbers of a vector of length 1: enough to know its model again.
-- NULL for NULL; a zero vector stays zero.
CREATE OR REPLACE FUNCTION pgblend._probe_start(embedding real[])
RETURNS real[]
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN (l2_normalize(embedding::vector)::real[])[1:32];
