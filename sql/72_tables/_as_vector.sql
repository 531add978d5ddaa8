-- _as_vector: the vector of some numbers, whose type a definer cannot name; NULL for NULL.
CREATE OR REPLACE FUNCTION pgblend._as_vector(numbers real[])
RETURNS vector
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN numbers::vector;
