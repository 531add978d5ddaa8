-- _last_position: the largest position in a tsvector; 0 where it has none. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._last_position(lexemes tsvector)
RETURNS integer
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
STRICT
BEGIN ATOMIC
    SELECT coalesce(max(l.positions[cardinality(l.positions)]), 0)
    FROM unnest(_last_position.lexemes) AS l;
END;
