-- _pack_lexemes: a chunk's lexemes as records of 11 bytes: term, occurrences in title, headings and
-- body.
CREATE OR REPLACE FUNCTION pgblend._pack_lexemes(lexemes tsvector)
RETURNS bytea
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN pgblend._pack_vector(tsvectorsend(lexemes));

COMMENT ON FUNCTION pgblend._pack_lexemes(tsvector) IS
'A chunk''s lexemes as records of 11 bytes: term, occurrences in title, headings and body.';
