-- _alike_lexemes: the up to 50 lexemes of a configuration most alike to one by trigrams, the most
-- alike first.
-- Adding nothing to the collection's id hides the b-tree index, through all of which the planner
-- would walk before the table is analyzed. The SET clauses put the caller's values back.
CREATE OR REPLACE FUNCTION pgblend._alike_lexemes(
    collection_ids bigint[],
    config_name text,
    asked text
)
RETURNS TABLE (lexeme text, likeness real)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 50
SET plan_cache_mode = force_generic_plan
SET "pg_trgm.similarity_threshold" = 0.25
SET "pgblend.fuzzy_lexeme" = ''
AS $function$
BEGIN
    PERFORM set_config('pgblend.fuzzy_lexeme', asked, true);
    RETURN QUERY
    SELECT s.lexeme, s.likeness
    FROM pgblend._similar_lexeme AS s
    WHERE s.collection_id + 0 = ANY(collection_ids)
        AND s.text_search_config || '' = config_name
    ORDER BY s.likeness DESC, s.lexeme
    LIMIT 50;
END;
$function$;
