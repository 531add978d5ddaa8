-- _lexeme_tsquery: a tsquery that matches any of the lexemes, which are taken as they are.
-- NULL and no lexemes give NULL.
CREATE OR REPLACE FUNCTION pgblend._lexeme_tsquery(lexemes text[])
RETURNS tsquery
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT string_agg(
        '''' || replace(replace(l.lexeme, '\', '\\'), '''', '''''') || '''', ' | '
        ORDER BY l.lexeme COLLATE "C"
    )::tsquery
    FROM unnest(_lexeme_tsquery.lexemes) AS l (lexeme);
END;
