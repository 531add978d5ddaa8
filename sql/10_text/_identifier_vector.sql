-- _identifier_vector: the identifiers of a text as lexemes of weight C, with "=" before each.
-- All at position 1: they have places in no phrase. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._identifier_vector(content text)
RETURNS tsvector
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
STRICT
BEGIN ATOMIC
    SELECT coalesce(
        string_agg(
            '''=' || replace(replace(i.identifier, '\', '\\'), '''', '''''') || ''':1C', ' '
        ), ''
    )::tsvector
    FROM unnest(pgblend._identifiers(_identifier_vector.content, true)) AS i (identifier);
END;

COMMENT ON FUNCTION pgblend._identifier_vector(text) IS
'The identifiers of a text as lexemes of weight C, with "=" before each.';
