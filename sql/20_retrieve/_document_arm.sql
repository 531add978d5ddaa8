-- _document_arm: the words' candidates at level document: the best documents, each by its best
-- chunk.
-- BM25 of whole documents: frequencies, lengths and statistics count what chunks repeat (title,
-- heading, overlap) once. Phrases must stand in some chunk of a document, exclusions in none; a
-- filter asks for a chunk that passes and has one of the words. Otherwise as _lexical_arm.
CREATE OR REPLACE FUNCTION pgblend._document_arm(
    query text,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb
)
RETURNS TABLE (
    rank bigint,
    chunk_id bigint,
    document_id bigint,
    chunk_index integer,
    score double precision,
    perfect_score double precision
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 100
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $function$
#variable_conflict use_column
DECLARE
    configs text[] := ARRAY(
        SELECT DISTINCT l.text_search_config
        FROM pgblend_data.collection_language AS l
        WHERE l.collection_id = ANY(collection_ids)
            AND l.text_search_config = coalesce(settings ->> 'language', l.text_search_config));
    stop_words text[] := CASE
        WHEN cardinality(configs) > 1 THEN pgblend._query_stop_words(query, configs) ELSE '{}'
    END;
    config_name text;
    parsed record;
    lexemes text[] := '{}';  -- of all configurations, one after the other
    boosts double precision[] := '{}';
    ends integer[] := '{0}';
    lexeme_configs text[] := '{}';
    statistics record;
    of_language record;
    idf double precision[];
    k1 double precision := settings ->> 'k1';
    depth integer := settings ->> 'candidate_depth';
    deadline double precision := pgblend._monotonic_deadline(
        (settings #>> '{timeouts_ms,lexical}')::integer);
    reading uuid := gen_random_uuid();
BEGIN
    IF settings ->> 'lexical_index' = 'none' THEN
        RETURN;
    ELSIF settings ->> 'lexical_index' IS NULL THEN
        PERFORM pgblend._check_lexical_index(collection_ids, (settings ->> 'strict')::boolean);
    END IF;
    FOREACH config_name IN ARRAY configs LOOP
        parsed := pgblend._parse_query(query, config_name, stop_words);
        lexemes := lexemes || parsed.lexemes;
        boosts := boosts || parsed.boosts;
        lexeme_configs := lexeme_configs
            || array_fill(config_name, ARRAY[cardinality(parsed.lexemes)]);
        ends := ends || cardinality(lexemes);
    END LOOP;
    IF cardinality(lexemes) = 0 THEN
        RETURN;
    ELSIF pgblend._has_numpy() THEN
        statistics := pgblend._document_statistics(collection_ids, lexemes, deadline, reading);
    ELSE
        statistics := pgblend._tsvector_document_statistics(collection_ids, lexemes);
        PERFORM pgblend._check_deadline(deadline);
    END IF;
    IF statistics.total_length = 0 THEN
        RETURN;
    END IF;
    IF cardinality(configs) = 1 THEN
        idf := ARRAY(
            SELECT pgblend._bm25_idf(statistics.n, u.df)
            FROM unnest(statistics.document_frequencies) WITH ORDINALITY AS u (df, place)
            ORDER BY u.place);
    ELSE
        IF pgblend._has_numpy() THEN
            of_language := pgblend._language_statistics(
                collection_ids, lexeme_configs, lexemes, true, deadline, reading);
        ELSE
            of_language := pgblend._tsvector_language_statistics(
                collection_ids, lexeme_configs, lexemes, true);
        END IF;
        idf := pgblend._language_idf(
            lexeme_configs, statistics.n, statistics.document_frequencies, of_language.n,
            of_language.document_frequencies);
    END IF;
    idf := ARRAY(
        SELECT u.idf * u.boost
        FROM unnest(idf, boosts) WITH ORDINALITY AS u (idf, boost, place)
        ORDER BY u.place);
    RETURN QUERY
    SELECT
        row_number() OVER (ORDER BY s.score DESC, s.document_id ASC) AS place,
        s.chunk_id,
        s.document_id,
        s.chunk_index,
        s.score,
        max(of_config.total_idf) OVER () * (k1 + 1)
    FROM unnest(configs, ends[:cardinality(configs)], ends[2:]) AS p (config_name, before, last)
    CROSS JOIN LATERAL (
        SELECT sum(value) AS total_idf FROM unnest(idf[p.before + 1:p.last]) AS value
    ) AS of_config
    CROSS JOIN LATERAL pgblend._document_candidates(
        query, collection_ids, p.config_name, lexemes[p.before + 1:p.last],
        idf[p.before + 1:p.last],
        statistics.total_length::double precision / statistics.n,
        k1, (settings ->> 'b')::double precision,
        ARRAY[settings ->> 'title_weight', settings ->> 'heading_weight', '1']::double precision[],
        filter, depth, deadline, reading
    ) AS s
    ORDER BY place
    LIMIT depth;
END;
$function$;

COMMENT ON FUNCTION pgblend._document_arm(text, bigint[], jsonb, jsonb) IS
'The words'' candidates at level document, best first, ranks from 1: BM25 of whole documents, each '
'by its best chunk. perfect_score is what no document can reach.';
