-- _milliseconds: the time from one moment to another, in milliseconds; NULL where one is NULL.
CREATE OR REPLACE FUNCTION pgblend._milliseconds(start_at timestamptz, end_at timestamptz)
RETURNS double precision
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN extract(EPOCH FROM end_at - start_at)::double precision * 1000;
