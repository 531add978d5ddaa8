-- _query_terms: what a query means in the text search configurations that collections use.
-- `configs` are those in use, or the one that is given where it is; `lexemes` those of all of them,
-- one configuration after the other, with the configuration of each (`lexeme_configs`) and how many
-- times its idf it weighs (`boosts`). Those of configs[i] end at ends[i + 1] (ends[1] is 0) and
-- must hold conditions[i], NULL for none. Where there are several, a word that is a stop word in
-- the query's own language is one in all.
CREATE OR REPLACE FUNCTION pgblend._query_terms(
    query text,
    collection_ids bigint[],
    language text,
    OUT configs text[],
    OUT lexemes text[],
    OUT boosts double precision[],
    OUT lexeme_configs text[],
    OUT ends integer[],
    OUT conditions tsquery[]
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET plan_cache_mode = force_generic_plan
AS $function$
DECLARE
    stop_words text[] := '{}';
    config_name text;
    parsed record;
BEGIN
    SELECT coalesce(array_agg(DISTINCT l.text_search_config), '{}') INTO configs
    FROM pgblend_data.collection_language AS l
    WHERE l.collection_id = ANY(collection_ids)
        AND l.text_search_config = coalesce(language, l.text_search_config);
    IF cardinality(configs) > 1 THEN
        stop_words := pgblend._query_stop_words(query, configs);
    END IF;
    lexemes := '{}';
    boosts := '{}';
    lexeme_configs := '{}';
    ends := '{0}';
    conditions := '{}';
    FOREACH config_name IN ARRAY configs LOOP
        parsed := pgblend._parse_query(query, config_name, stop_words);
        lexemes := lexemes || parsed.lexemes;
        boosts := boosts || parsed.boosts;
        lexeme_configs := lexeme_configs
            || array_fill(config_name, ARRAY[cardinality(parsed.lexemes)]);
        ends := ends || cardinality(lexemes);
        conditions := array_append(conditions, parsed.condition);
    END LOOP;
END;
$function$;
