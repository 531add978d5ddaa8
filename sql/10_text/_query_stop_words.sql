-- _query_stop_words: those of a query's words that are stop words in the language that it is
-- probably in.
-- That is the configuration which takes most of its words for stop words, and not all of them; none
-- where no configuration has any. Without this an English "the", which English documents do not
-- index, would be a rare and telling word of a German document.
CREATE OR REPLACE FUNCTION pgblend._query_stop_words(words text, config_names text[])
RETURNS text[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN (
        WITH word AS MATERIALIZED (
            SELECT w.lexeme AS text
            FROM unnest(to_tsvector('simple', pgblend._indexable_text(words, 'simple'))) AS w
        )

        SELECT coalesce((
            SELECT array_agg(one_word.text)
            FROM unnest(config_names) AS config_name
            CROSS JOIN word AS one_word
            WHERE to_tsvector(pgblend._regconfig(config_name), one_word.text) = ''
            GROUP BY config_name
            HAVING count(*) < (SELECT count(*) FROM word)
            ORDER BY count(*) DESC, config_name ASC
            LIMIT 1
        ), '{}'));
END;
$function$;
