-- _query_lexemes: the lexemes of a query's words under some text search configurations, a row each.
-- `counts` say how often each stands there. `stop_words` are left out beside the configuration's
-- own. Words that are too long for a lexeme are left out, without a NOTICE. No configurations, and
-- NULL for them, give no rows; NULL for the words gives no lexemes.
CREATE OR REPLACE FUNCTION pgblend._query_lexemes(
    words text,
    config_names text[],
    stop_words text[]
)
RETURNS TABLE (config_name text, lexemes text[], counts integer[])
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 1
SET client_min_messages = warning
AS $function$
DECLARE
    config regconfig;
    vector tsvector;
BEGIN
    FOREACH config_name IN ARRAY coalesce(config_names, '{}') LOOP
        config := pgblend._regconfig(config_name);
        vector := to_tsvector(config, pgblend._indexable_text(words, config));
        IF stop_words <> '{}' THEN
            vector := ts_delete(vector, tsvector_to_array(
                to_tsvector(config, array_to_string(stop_words, ' '))));
        END IF;
        SELECT
            coalesce(array_agg(w.lexeme), '{}'),
            coalesce(array_agg(cardinality(w.positions)), '{}')
        INTO lexemes, counts
        FROM unnest(vector) AS w;
        RETURN NEXT;
    END LOOP;
END;
$function$;
