-- _lexical_arm: the words' candidates: one BM25 over all text search configurations in use.
-- `perfect_score` is what no passage can reach: Σ idf · (k1 + 1), the largest over the
-- configurations. A query without lexemes has no candidates. Raises PB002 where an index is
-- missing, PB003 where strict finds no chunks, PB009 where timeouts_ms.lexical is over. A caller
-- that knows puts lexical_index into settings: 'incomplete' to search what there is, 'none' for no
-- candidates. At level document the candidates are documents (_document_arm).
CREATE OR REPLACE FUNCTION pgblend._lexical_arm(
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
    conditions tsquery[] := '{}';
    lexeme_configs text[] := '{}';
    statistics record;
    of_language record;
    total_length bigint := 0;
    average_length double precision;
    idf double precision[];
    total_idf double precision := 0;
    best record;
    has_numpy boolean := pgblend._has_numpy();
    k1 double precision := settings ->> 'k1';
    b double precision := settings ->> 'b';
    field_weights double precision[] := ARRAY[
        settings ->> 'title_weight', settings ->> 'heading_weight', '1'];
    depth integer := settings ->> 'candidate_depth';
    deadline double precision := pgblend._monotonic_deadline(
        (settings #>> '{timeouts_ms,lexical}')::integer);
    reading uuid := gen_random_uuid();
BEGIN
    IF settings ->> 'level' = 'document' THEN
        RETURN QUERY SELECT * FROM pgblend._document_arm(query, collection_ids, filter, settings);
        RETURN;
    ELSIF settings ->> 'lexical_index' = 'none' THEN
        RETURN;
    END IF;
    FOREACH config_name IN ARRAY configs LOOP
        parsed := pgblend._parse_query(query, config_name, stop_words);
        lexemes := lexemes || parsed.lexemes;
        boosts := boosts || parsed.boosts;
        lexeme_configs := lexeme_configs
            || array_fill(config_name, ARRAY[cardinality(parsed.lexemes)]);
        ends := ends || cardinality(lexemes);
        conditions := array_append(conditions, parsed.condition);
    END LOOP;
    IF cardinality(lexemes) > 0 THEN
        IF has_numpy THEN
            statistics := pgblend._lexical_statistics(collection_ids, lexemes, deadline, reading);
        ELSE
            statistics := pgblend._tsvector_statistics(collection_ids, lexemes);
            PERFORM pgblend._check_deadline(deadline);
        END IF;
        total_length := statistics.total_length;
    END IF;
    -- A collection of which the index counted words has one.
    IF settings ->> 'lexical_index' IS NULL
        AND (total_length = 0 OR NOT has_numpy OR cardinality(collection_ids) > 1)
    THEN
        PERFORM pgblend._check_lexical_index(collection_ids, (settings ->> 'strict')::boolean);
    END IF;
    IF total_length = 0 THEN
        RETURN;
    END IF;
    average_length := total_length::double precision / statistics.n;
    IF cardinality(configs) = 1 THEN
        FOR place IN 1..cardinality(lexemes) LOOP
            idf[place] := pgblend._bm25_idf(
                statistics.n, (statistics.document_frequencies)[place]);
        END LOOP;
    ELSE
        IF has_numpy THEN
            of_language := pgblend._language_statistics(
                collection_ids, lexeme_configs, lexemes, false, deadline, reading);
        ELSE
            of_language := pgblend._tsvector_language_statistics(
                collection_ids, lexeme_configs, lexemes, false);
        END IF;
        idf := pgblend._language_idf(
            lexeme_configs, statistics.n, statistics.document_frequencies, of_language.n,
            of_language.document_frequencies);
    END IF;
    FOR place IN 1..cardinality(lexemes) LOOP
        idf[place] := idf[place] * boosts[place];
        total_idf := total_idf + idf[place];
    END LOOP;
    IF cardinality(configs) = 1 AND conditions[1] IS NULL AND filter IS NULL AND has_numpy THEN
        -- What _lexical_score would do, in half of the time.
        best := pgblend._segment_score(
            collection_ids, configs[1], lexemes, idf, average_length, k1, b, field_weights, depth,
            deadline, NULL, reading);
        RETURN QUERY
        SELECT u.place, u.chunk_id, u.document_id, u.chunk_index, u.score, total_idf * (k1 + 1)
        FROM unnest(best.chunk_ids, best.document_ids, best.chunk_indexes, best.scores)
            WITH ORDINALITY AS u (chunk_id, document_id, chunk_index, score, place);
        RETURN;
    END IF;
    RETURN QUERY
    SELECT
        row_number() OVER (ORDER BY s.score DESC, s.document_id ASC, s.chunk_index ASC) AS place,
        s.chunk_id,
        s.document_id,
        s.chunk_index,
        s.score,
        max(of_config.total_idf) OVER () * (k1 + 1)
    FROM unnest(configs, conditions, ends[:cardinality(configs)], ends[2:])
        AS p (config_name, condition, before, last)
    CROSS JOIN LATERAL (
        SELECT sum(value) AS total_idf FROM unnest(idf[p.before + 1:p.last]) AS value
    ) AS of_config
    CROSS JOIN LATERAL pgblend._lexical_score(
        collection_ids, p.config_name, lexemes[p.before + 1:p.last], p.condition,
        idf[p.before + 1:p.last],
        average_length, k1, b, field_weights,
        filter, depth, deadline, reading
    ) AS s
    ORDER BY place
    LIMIT depth;
END;
$function$;

COMMENT ON FUNCTION pgblend._lexical_arm(text, bigint[], jsonb, jsonb) IS
'The words'' candidates, best first, ranks from 1: one BM25 over all text search configurations in '
'use, with statistics of the searched collections. perfect_score is what no passage can reach.';
