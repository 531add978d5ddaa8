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

-- _similar_lexeme: the caller's indexed lexemes that are similar to the text in the session's
-- parameter pgblend.fuzzy_lexeme, by pg_trgm.similarity_threshold.
-- It reads vocabulary as its owner and asks itself which collections the caller may read. Operator
-- % is not leakproof: row security would keep it from the trigram index. A security barrier: no
-- condition of the caller's sees a row before. The parameter is no secret and grants nothing.
CREATE OR REPLACE VIEW pgblend._similar_lexeme WITH (security_barrier = true) AS
SELECT
    v.collection_id,  -- The collection.
    v.text_search_config,  -- The language.
    v.lexeme,  -- The lexeme.
    -- Shared trigrams over all trigrams.
    similarity(v.lexeme, current_setting('pgblend.fuzzy_lexeme', true)) AS likeness
FROM pgblend_data.vocabulary AS v
WHERE
    v.lexeme % current_setting('pgblend.fuzzy_lexeme', true)
    AND (
        (SELECT pg_has_role('pgblend_admin', 'USAGE'))
        OR v.collection_id IN (SELECT r.collection_id FROM pgblend_data.readable_collection AS r)
    );

-- _words_of_lexemes: for each lexeme the first word of a text, which is as the parser gets it, that
-- becomes it under a text search configuration, in lower case; the lexeme itself where there is
-- none.
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
            FROM regexp_split_to_table(query, '[^[:alnum:][:digit:]]+')
                WITH ORDINALITY AS w (word, place)
        )

        SELECT coalesce((
            SELECT w.word FROM word AS w WHERE u.lexeme = ANY(w.lexemes) ORDER BY w.place LIMIT 1
        ), u.lexeme)
        FROM unnest(lexemes) WITH ORDINALITY AS u (lexeme, place)
        ORDER BY u.place);
END;
$function$;
