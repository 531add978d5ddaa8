-- _arm_facts: for each arm whether it ran in a traced search, and where it has a document.
-- {arm: {"ran", "reason", "rank", "score", "measure", "candidates", "cut", "is_candidate", "found",
-- "lacking", "waiting"}}; cut is the last candidate's score. An arm that did not run has a reason
-- and no rank.
CREATE OR REPLACE FUNCTION pgblend._arm_facts(
    document_id bigint,
    query text,
    query_embedding vector,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb,
    trace jsonb
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    space pgblend_data.embedding_space := pgblend._searched_space(settings ->> 'space');
    words record := pgblend._query_words(query, document_id, collection_ids);
    facts jsonb := '{}';
    arm text;
    stage jsonb;
    reason text;
    place record;
BEGIN
    FOREACH arm IN ARRAY ARRAY['lexical', 'vector', 'fuzzy'] LOOP
        stage := jsonb_path_query_first(
            trace, '$.stages[*] ? (@.name == $arm)', jsonb_build_object('arm', arm));
        reason := CASE
            WHEN stage IS NULL OR stage ->> 'skipped' IS NOT NULL THEN coalesce((
                SELECT substr(note, length(arm) + 3)
                FROM jsonb_array_elements_text(trace -> 'degraded') AS note
                WHERE note LIKE arm || ': %' LIMIT 1),
                stage ->> 'skipped', 'the settings leave it out')
            WHEN arm = 'fuzzy' AND stage ->> 'rows' = '0' THEN 'no word had to be put right'
        END;
        IF reason IS NOT NULL THEN
            facts := facts || jsonb_build_object(
                arm, jsonb_build_object('ran', false, 'reason', reason, 'rank', NULL));
            CONTINUE;
        END IF;
        place := pgblend._place_in_arm(
            arm, document_id, query, query_embedding, space, collection_ids, filter, settings);
        facts := facts || jsonb_build_object(arm, jsonb_build_object(
            'ran', true,
            'candidates', stage -> 'rows',
            'rank', place.rank,
            'score', place.score,
            'measure', CASE
                WHEN arm = 'vector' THEN 'cosine'
                WHEN arm = 'lexical' AND settings ->> 'lexical_method' = 'bm25' THEN 'BM25'
                ELSE 'score' END,
            'cut', (
                SELECT min((c.value #>> ARRAY['arms', arm, 'score'])::double precision)
                FROM jsonb_array_elements(trace -> 'candidates') AS c),
            'is_candidate', EXISTS (
                SELECT FROM jsonb_array_elements(trace -> 'candidates') AS c
                WHERE c.value -> 'document_id' = to_jsonb(document_id)
                    AND c.value #> ARRAY['arms', arm] IS NOT NULL)
        ) || CASE arm
            WHEN 'lexical' THEN jsonb_build_object('found', words.present, 'lacking', words.lacking)
            WHEN 'vector' THEN jsonb_build_object('waiting', (
                SELECT count(*) FROM pgblend_data.embedding_queue AS q
                WHERE q.document_id = _arm_facts.document_id AND q.space = space.name))
            ELSE '{}'
        END);
    END LOOP;
    RETURN facts;
END;
$function$;
