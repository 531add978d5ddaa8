-- _words_of_lexemes: for each lexeme the first word of a text that becomes it under a text search
-- configuration, in lower case; the lexeme itself where there is none.
CREATE OR REPLACE FUNCTION pgblend._words_of_lexemes(
    query text,
    config_name text,
    lexemes text[]
)
RETURNS text[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET client_min_messages = warning
AS $function$
DECLARE
    config regconfig := pgblend._regconfig(config_name);
BEGIN
    RETURN ARRAY(
        WITH word AS MATERIALIZED (
            SELECT
                w.place,
                lower(w.word) AS word,
                tsvector_to_array(to_tsvector(config, w.word)) AS lexemes
            FROM regexp_split_to_table(
                pgblend._indexable_text(query, config), '[^[:alnum:][:digit:]]+'
            ) WITH ORDINALITY AS w (word, place)
        )

        SELECT coalesce((
            SELECT w.word FROM word AS w WHERE u.lexeme = ANY(w.lexemes) ORDER BY w.place LIMIT 1
        ), u.lexeme)
        FROM unnest(lexemes) WITH ORDINALITY AS u (lexeme, place)
        ORDER BY u.place);
END;
$function$;
