-- _pack_lexemes: a chunk's lexemes as records of 14 bytes: term, occurrences by field, of its own
-- and repeated.
CREATE OR REPLACE FUNCTION pgblend._pack_lexemes(lexemes tsvector, own_position integer)
RETURNS bytea
LANGUAGE sql
IMMUTABLE PARALLEL UNSAFE
RETURN pgblend._pack_vector(tsvectorsend(lexemes), own_position);
