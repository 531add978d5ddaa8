-- _fuzzy_arm: candidates of a query whose misspelt and unfinished words are put right.
-- A lexeme that the searched collections' vocabulary lacks stands for up to three that it has; each
-- counts by how likely it is, known ones count as they are. `corrections` maps the ones to the
-- others.
-- Candidates and scores are those of BM25 as in _lexical_arm, as arrays, with its settings;
-- perfect_score is what no passage can reach. None where no lexeme is unknown, unless the setting
-- fuzzy is 'on'. A word of deleted chunks counts as known until lexical_rebuild. By the setting
-- fuzzy_method word_similarity it is _trigram_arm instead.
CREATE OR REPLACE FUNCTION pgblend._fuzzy_arm(
    query text,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb,
    OUT chunk_ids bigint[],
    OUT document_ids bigint[],
    OUT chunk_indexes integer[],
    OUT scores double precision[],
    OUT perfect_score double precision,
    OUT corrections jsonb[]
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $function$
#variable_conflict use_column
DECLARE
    k1 double precision := settings ->> 'k1';
    depth integer := settings ->> 'candidate_depth';
    deadline double precision;
    reading uuid := gen_random_uuid();
    terms jsonb;
BEGIN
    IF settings ? 'damaged' THEN
        collection_ids := pgblend._sound_collections(collection_ids, settings -> 'damaged');
    END IF;
    IF settings ->> 'fuzzy_method' = 'word_similarity' THEN
        SELECT t.* INTO chunk_ids, document_ids, chunk_indexes, scores, perfect_score, corrections
        FROM pgblend._trigram_arm(query, collection_ids, filter, settings) AS t;
        RETURN;
    ELSIF settings ->> 'lexical_index' = 'none' THEN
        RETURN;
    ELSIF settings ->> 'lexical_index' IS NULL THEN
        PERFORM pgblend._check_lexical_index(collection_ids, (settings ->> 'strict')::boolean);
    END IF;
    deadline := pgblend._lexical_deadline(
        collection_ids, (settings #>> '{timeouts_ms,lexical}')::integer, 'fuzzy', reading);
    terms := pgblend._fuzzy_terms(query, collection_ids, settings, deadline, reading);
    SELECT
        array_agg(r.chunk_id), array_agg(r.document_id), array_agg(r.chunk_index),
        array_agg(r.score), max(r.total) * (k1 + 1), array_agg(r.corrections)
    INTO chunk_ids, document_ids, chunk_indexes, scores, perfect_score, corrections
    FROM (
        SELECT s.*, max(t.total) OVER () AS total, t.corrections
        FROM jsonb_to_recordset(terms) AS t (
            config_name text, lexemes text[], idf double precision[], total double precision,
            average_length double precision, condition tsquery, corrections jsonb)
        CROSS JOIN LATERAL pgblend._lexical_score(
            collection_ids, t.config_name, t.lexemes, t.condition, t.idf, t.average_length,
            k1, (settings ->> 'b')::double precision,
            ARRAY[settings ->> 'title_weight', settings ->> 'heading_weight', '1']::double precision[],
            filter, depth, deadline, reading
        ) AS s
        ORDER BY s.score DESC, s.document_id ASC, s.chunk_index ASC
        LIMIT depth
    ) AS r;
END;
$function$;
