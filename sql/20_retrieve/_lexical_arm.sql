-- _lexical_arm: the words' candidates: one BM25 over all text search configurations in use; as
-- arrays, best first, which are NULL or empty where there are none.
-- `perfect_score` is what no passage can reach: Σ idf · (k1 + 1), the largest over the
-- configurations. A query without lexemes has no candidates. Raises PB002 where an index is missing
-- or damaged, PB003 where strict finds no chunks, PB009 where timeouts_ms.lexical is over. A caller
-- that knows puts lexical_index into settings: 'incomplete' to search what there is, 'none' for no
-- candidates. At level document the candidates are documents, each by its best chunk: frequencies,
-- lengths and statistics count what chunks repeat (title, heading, overlap) once, phrases must
-- stand in some chunk of a document, exclusions in none, and a filter asks for a chunk that passes
-- and has one of the words. By the setting lexical_method ts_rank_cd it is _cover_density_arm
-- instead.
CREATE OR REPLACE FUNCTION pgblend._lexical_arm(
    query text,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb,
    OUT chunk_ids bigint[],
    OUT document_ids bigint[],
    OUT chunk_indexes integer[],
    OUT scores double precision[],
    OUT perfect_score double precision
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $function$
#variable_conflict use_column
DECLARE
    terms record;
    statistics record;
    best record;
    idf double precision[];
    by_document boolean := settings ->> 'level' = 'document';
    has_numpy boolean := pgblend._has_numpy();
    k1 double precision := settings ->> 'k1';
    depth integer := settings ->> 'candidate_depth';
    field_weights double precision[] := ARRAY[
        settings ->> 'title_weight', settings ->> 'heading_weight', '1'];
    timeout_ms integer := settings #>> '{timeouts_ms,lexical}';
    deadline double precision;
    reading uuid;
    total_length bigint := 0;
BEGIN
    IF settings ->> 'lexical_method' = 'ts_rank_cd' THEN
        SELECT c.* INTO chunk_ids, document_ids, chunk_indexes, scores, perfect_score
        FROM pgblend._cover_density_arm(query, collection_ids, filter, settings) AS c;
        RETURN;
    ELSIF settings ->> 'lexical_index' = 'none' THEN
        RETURN;
    END IF;
    IF settings ? 'damaged' THEN
        collection_ids := pgblend._sound_collections(collection_ids, settings -> 'damaged');
    END IF;
    terms := pgblend._query_terms(query, collection_ids, settings ->> 'language');
    IF cardinality(terms.lexemes) = 0 THEN
        NULL;
    ELSIF cardinality(terms.configs) = 1 AND by_document IS NOT TRUE AND has_numpy THEN
        best := pgblend._lexical_best(
            collection_ids, terms.configs[1], terms.lexemes, terms.boosts, k1,
            (settings ->> 'b')::double precision, field_weights, filter, terms.conditions[1], depth,
            timeout_ms);
        total_length := best.total_length;
    ELSE
        reading := gen_random_uuid();
        deadline := pgblend._lexical_deadline(
            collection_ids, timeout_ms, CASE WHEN by_document THEN 'document' ELSE 'chunk' END,
            reading);
        statistics := pgblend._query_idf(
            collection_ids, terms.lexeme_configs, terms.lexemes, by_document, deadline, reading);
        total_length := statistics.total_length;
    END IF;
    -- A single collection in which words were counted has an index.
    IF settings ->> 'lexical_index' IS NULL
        AND (total_length = 0 OR cardinality(collection_ids) > 1 OR NOT has_numpy)
    THEN
        PERFORM pgblend._check_lexical_index(collection_ids, (settings ->> 'strict')::boolean);
    END IF;
    IF total_length = 0 THEN
        RETURN;
    ELSIF best IS DISTINCT FROM NULL THEN
        chunk_ids := best.chunk_ids;
        document_ids := best.document_ids;
        chunk_indexes := best.chunk_indexes;
        scores := best.scores;
        perfect_score := best.perfect_score;
        RETURN;
    END IF;
    idf := ARRAY(
        SELECT u.idf * u.boost
        FROM unnest(statistics.idf, terms.boosts) WITH ORDINALITY AS u (idf, boost, place)
        ORDER BY u.place);
    SELECT
        array_agg(r.chunk_id), array_agg(r.document_id), array_agg(r.chunk_index),
        array_agg(r.score), max(r.total_idf) * (k1 + 1)
    INTO chunk_ids, document_ids, chunk_indexes, scores, perfect_score
    FROM (
        SELECT s.*, max(of_config.total_idf) OVER () AS total_idf
        FROM unnest(
            terms.configs, terms.conditions, terms.ends[:cardinality(terms.configs)], terms.ends[2:])
            AS p (config_name, condition, before, last)
        CROSS JOIN LATERAL (
            SELECT sum(value) AS total_idf FROM unnest(idf[p.before + 1:p.last]) AS value
        ) AS of_config
        CROSS JOIN LATERAL (
            SELECT c.*
            FROM pgblend._lexical_score(
                collection_ids, p.config_name, terms.lexemes[p.before + 1:p.last], p.condition,
                idf[p.before + 1:p.last], total_length::double precision / statistics.n, k1,
                (settings ->> 'b')::double precision, field_weights, filter, depth, deadline, reading
            ) AS c
            WHERE by_document IS NOT TRUE
            UNION ALL
            SELECT d.*
            FROM pgblend._document_candidates(
                query, collection_ids, p.config_name, terms.lexemes[p.before + 1:p.last],
                idf[p.before + 1:p.last], total_length::double precision / statistics.n, k1,
                (settings ->> 'b')::double precision, field_weights, filter, depth, deadline, reading
            ) AS d
            WHERE by_document
        ) AS s
        ORDER BY s.score DESC, s.document_id ASC, s.chunk_index ASC
        LIMIT depth
    ) AS r;
END;
$function$;
