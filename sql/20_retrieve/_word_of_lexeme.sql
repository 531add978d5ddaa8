-- _word_of_lexeme: the word of a text that becomes the lexeme under a text search configuration, in
-- lower case; the lexeme itself where there is none.
CREATE OR REPLACE FUNCTION pgblend._word_of_lexeme(query text, config_name text, lexeme text)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
SET client_min_messages = warning
AS $function$
DECLARE
    config regconfig := pgblend._regconfig(config_name);
BEGIN
    RETURN coalesce((
        SELECT lower(word)
        FROM regexp_split_to_table(query, '[^[:alnum:]]+') AS word
        WHERE lexeme = ANY(tsvector_to_array(to_tsvector(config, pgblend._indexable_text(word))))
        LIMIT 1), lexeme);
END;
$function$;

COMMENT ON FUNCTION pgblend._word_of_lexeme(text, text, text) IS
'The word of a text that becomes the lexeme under a text search configuration, in lower case; the '
'lexeme itself where there is none.';
