-- _found_documents: passages collapsed to documents, each at its best place, with its best score.
-- A passage counts as the documents with its text (copies in details) that are relevant to the
-- judged query, the best first. Else it counts as its own document: what dedup leaves out is no
-- miss. A NULL judged_query_id judges nothing.
CREATE OR REPLACE FUNCTION pgblend._found_documents(
    passages blend.search_result[],
    judged_query_id bigint,
    OUT source_keys text[],
    OUT scores double precision[]
)
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH passage AS (
        SELECT
            p.rank,
            p.score,
            p.source_key AS own_key,
            coalesce(c.copy ->> 'source_key', p.source_key) AS source_key
        FROM unnest(passages) AS p
        CROSS JOIN LATERAL jsonb_array_elements(
            '[{}]' || coalesce(p.details -> 'copies', '[]')
        ) AS c (copy)
    ),

    counted AS (
        SELECT
            a.*,
            row_number() OVER (
                ORDER BY a.rank ASC, a.grade DESC, a.source_key <> a.own_key ASC, a.source_key ASC
            ) AS place
        FROM (
            SELECT
                p.*,
                greatest(j.grade, 0) AS grade,
                coalesce(max(j.grade) OVER (PARTITION BY p.rank) > 0, false) AS is_relevant
            FROM passage AS p
            LEFT JOIN pgblend_data.judgement AS j
                ON p.source_key = j.source_key AND j.query_id = judged_query_id
        ) AS a
        WHERE CASE WHEN a.is_relevant THEN a.grade > 0 ELSE a.source_key = a.own_key END
    )

    SELECT
        coalesce(array_agg(d.source_key ORDER BY d.place), '{}') AS source_keys,
        coalesce(array_agg(d.score ORDER BY d.place), '{}') AS scores
    FROM (
        SELECT
            c.source_key,
            min(c.place) AS place,
            max(c.score) AS score
        FROM counted AS c
        GROUP BY c.source_key
    ) AS d;
END;

-- evaluate_queries: search a run's next queries and store what they found; returns how many.
-- 0 means that no query is left. Takes the judged queries with a relevant document, in order of
-- their ids; a NULL batch_size takes all. Passages are collapsed to documents, each at its best
-- place; one whose text a relevant document has too counts as that document. Among the metrics are
-- documents@10, the different documents in the first ten passages, and duplicates@10, the share of
-- these whose text an earlier one has. Time is the search's own. Warnings are kept as `degraded`,
-- not raised for each query.
CREATE OR REPLACE FUNCTION blend.evaluate_queries(
    run_id bigint,
    batch_size integer DEFAULT NULL
)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET client_min_messages = 'error'
AS $function$
DECLARE
    run pgblend_data.evaluation_run;
    judged record;
    started timestamptz;
    done integer := 0;
    passages blend.search_result[];
    latency_ms double precision;
    is_of_model boolean;
BEGIN
    SELECT r.* INTO run FROM pgblend_data.evaluation_run AS r
    WHERE r.id = run_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no run % that % may read',
            coalesce(run_id::text, 'NULL'), current_user
            USING ERRCODE = '42704', HINT = 'SELECT run_id FROM blend.evaluation_runs';
    END IF;
    -- In a space of another model the vectors that the set brings mean nothing: ask the gateway.
    is_of_model := coalesce((pgblend._searched_space(run.settings ->> 'space')).model = (
        SELECT s.embedding_model FROM pgblend_data.judged_set AS s WHERE s.id = run.set_id), true);
    FOR judged IN
        SELECT q.id, q.query, CASE WHEN is_of_model THEN q.embedding END AS embedding
        FROM pgblend_data.judged_query AS q
        WHERE q.set_id = run.set_id
            AND EXISTS (
                SELECT FROM pgblend_data.judgement AS j WHERE j.query_id = q.id AND j.grade > 0)
            AND NOT EXISTS (
                SELECT FROM pgblend_data.evaluation_result AS e
                WHERE e.run_id = run.id AND e.query_id = q.id)
        ORDER BY q.id
        LIMIT batch_size
    LOOP
        started := clock_timestamp();
        passages := ARRAY(
            SELECT r::blend.search_result
            FROM pgblend._judged_search(run, judged.query, judged.embedding) AS r
            ORDER BY r.rank);
        latency_ms := extract(EPOCH FROM clock_timestamp() - started) * 1000;
        INSERT INTO pgblend_data.evaluation_result AS e (
            run_id, query_id, collection_id, source_keys, scores, passages, latency_ms, degraded,
            metrics)
        SELECT run.id, judged.id, run.collection_id, f.source_keys, f.scores,
            cardinality(passages), latency_ms,
            ARRAY(SELECT jsonb_array_elements_text(blend.last_search() -> 'degraded')),
            (SELECT jsonb_build_object(
                'documents@10', count(DISTINCT p.document_id),
                'duplicates@10', coalesce(
                    1 - count(DISTINCT p.content)::double precision / nullif(count(*), 0), 0))
                FROM unnest(passages) AS p WHERE p.rank <= 10)
        FROM pgblend._found_documents(passages, judged.id) AS f
        ON CONFLICT DO NOTHING;  -- another session was faster
        done := done + 1;
    END LOOP;
    RETURN done;
END;
$function$;
