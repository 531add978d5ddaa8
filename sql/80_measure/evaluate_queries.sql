-- evaluate_queries: search a run's next queries and store what they found; returns how many.
-- 0 means that no query is left. Takes the judged queries with a relevant document, in order of
-- their ids; a NULL batch_size takes all. Passages are collapsed to documents, each at its best
-- place; one whose text a relevant document has too counts as that document. Among the metrics are
-- documents@10, the different documents in the first ten passages, and duplicates@10, the share of
-- these whose text an earlier one has. Time is the search's own. Warnings are kept as `degraded`
-- (but of phrases searched by their words), not raised for each query.
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
    run record;
    judged record;
    started timestamptz;
    done integer := 0;
    passages blend.search_result[];
    latency_ms double precision;
    is_of_model boolean;
BEGIN
    SELECT r.id, r.set_id, r.collection_id, r.settings, r AS whole INTO run
    FROM pgblend_data.evaluation_run AS r
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
            FROM pgblend._judged_search(run.whole, judged.query, judged.embedding) AS r
            ORDER BY r.rank);
        latency_ms := extract(EPOCH FROM clock_timestamp() - started) * 1000;
        INSERT INTO pgblend_data.evaluation_result AS e (
            run_id, query_id, collection_id, source_keys, scores, passages, latency_ms, degraded,
            metrics)
        SELECT run.id, judged.id, run.collection_id, f.source_keys, f.scores,
            cardinality(passages), latency_ms,
            ARRAY(  -- a phrase's words are the profile's own way
                SELECT d.note FROM jsonb_array_elements_text(
                    blend.last_search() -> 'degraded') WITH ORDINALITY AS d (note, place)
                WHERE NOT d.note ^@ 'phrases: ' ORDER BY d.place),
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

-- _judged_search: the passages that a run's search finds for one query.
-- The query is prose: a quotation mark or a hyphen in it is no operator, as it would be for
-- somebody who types it. The lexical arm is searched strictly: nearest passages by vectors, in
-- place of words that are nowhere, would be the other arm's figures. Without an embedding the
-- gateway is asked, as in any search. The search log has it as an evaluation's. Documents with
-- readers of their own are left out: who reads the collection sees what was found.
CREATE OR REPLACE FUNCTION pgblend._judged_search(
    run pgblend_data.evaluation_run,
    query text,
    query_embedding vector
)
RETURNS SETOF blend.search_result
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 100
SET "pgblend.purpose" = 'evaluation'
SET "pgblend.common_only" = 'on'
AS $function$
BEGIN
    RETURN QUERY
    SELECT r.*
    FROM pgblend._search(
        CASE run.arm WHEN 'vector' THEN query ELSE pgblend._plain_query(query) END,
        run.result_limit,
        (SELECT ARRAY[c.name] FROM pgblend_data.collection AS c WHERE c.id = run.collection_id),
        NULL,
        run.profile,
        CASE run.arm WHEN 'lexical' THEN '{"strict": true}'::jsonb ELSE '{}' END || run.options
            || '{"columns": []}',
        CASE WHEN run.arm IN ('hybrid', 'vector') THEN query_embedding END,
        nullif(run.arm, 'hybrid')) AS s
    CROSS JOIN LATERAL unnest(s.results) AS r;
END;
$function$;

-- _plain_query: a query without its operators: quotation marks, leading hyphens and the word or.
CREATE OR REPLACE FUNCTION pgblend._plain_query(query text)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(string_agg(w.word, ' ' ORDER BY w.place), '')
    FROM regexp_split_to_table(
        regexp_replace(query, E'(^|\\s)-+|"', ' ', 'g'), E'\\s+'
    ) WITH ORDINALITY AS w (word, place)
    WHERE w.word <> '' AND lower(w.word) <> 'or';
END;

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

-- _start_run: the id of an unfinished run that is searched in this very way, else of a new one.
-- "This way" is the set, the arm, the profile, the options, the settings in force and versions.
-- Numbers of documents, queries and judgements belong to it, and the models that a hybrid search
-- asks: whatever moves a rank makes a new run. An arm other than 'hybrid' has no profile. Each
-- stage gets time enough unless the options say how much, so that a busy server does not lower the
-- figures. Where several collections have a set of the name, collection says which.
CREATE OR REPLACE FUNCTION pgblend._start_run(
    judged_set text,
    arm text,
    profile text,
    options jsonb,
    result_limit integer,
    collection text DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.judged_set := pgblend._writable_judged_set(judged_set, collection);
    wanted pgblend_data.evaluation_run;
    space pgblend_data.embedding_space;
    stages jsonb;
    run_id bigint;
BEGIN
    IF arm IS NULL OR arm NOT IN ('hybrid', 'lexical', 'vector', 'fuzzy') THEN
        RAISE EXCEPTION 'arm is %: expected hybrid, lexical, vector or fuzzy',
            coalesce(quote_literal(left(arm, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'hybrid searches by a profile, the others by one arm.';
    END IF;
    PERFORM pgblend._check_result_limit(result_limit);
    wanted.profile := CASE WHEN arm = 'hybrid'
        THEN coalesce(profile, blend.get_setting('default_profile') #>> '{}') END;
    wanted.options := jsonb_set(
        coalesce(options, '{}'), '{timeouts_ms}',
        '{"embed": 60000, "lexical": 60000, "total": 600000}'
            || coalesce(options -> 'timeouts_ms', '{}'));
    wanted.settings := pgblend._search_settings(
        wanted.options, wanted.profile, array_remove(ARRAY[target.collection_id], NULL));
    space := pgblend._searched_space(wanted.settings ->> 'space');
    stages := pgblend._search_plan(wanted.options, wanted.profile, (
        SELECT ARRAY[c.name] FROM pgblend_data.collection AS c
        WHERE c.id = target.collection_id)) -> 'stages';
    -- What the figures depend on beside the settings; a set on all collections counts what the
    -- caller may read.
    wanted.versions := jsonb_build_object(
        'postgresql', current_setting('server_version'),
        'pgvector', (
            SELECT e.extversion FROM pg_catalog.pg_extension AS e WHERE e.extname = 'vector'),
        'embedding_space', space.name,
        'embedding_model', space.model,
        'documents', pgblend._document_count(target.collection_id),
        'queries', (
            SELECT count(*) FROM pgblend_data.judged_query AS q WHERE q.set_id = target.id),
        'judgements', (
            SELECT count(*) FROM pgblend_data.judgement AS j
            INNER JOIN pgblend_data.judged_query AS q ON q.id = j.query_id
            WHERE q.set_id = target.id))
        || jsonb_strip_nulls(jsonb_build_object(
            'expansion_model',
            CASE WHEN arm = 'hybrid' AND (stages -> 'expand')::boolean
                THEN blend.get_setting('expansion_model') END,
            'rerank_model',
            CASE WHEN arm = 'hybrid' AND (stages -> 'rerank')::boolean
                THEN blend.get_setting('rerank_model') END));
    SELECT r.id INTO run_id FROM pgblend_data.evaluation_run AS r
    WHERE r.set_id = target.id AND r.state = 'running' AND r.arm = _start_run.arm
        AND r.profile IS NOT DISTINCT FROM wanted.profile AND r.options = wanted.options
        AND r.result_limit = _start_run.result_limit AND r.settings = wanted.settings
        AND r.versions = wanted.versions
    ORDER BY r.id DESC LIMIT 1;
    IF NOT FOUND THEN
        INSERT INTO pgblend_data.evaluation_run AS r (
            set_id, collection_id, arm, profile, options, result_limit, settings, versions)
        VALUES (
            target.id, target.collection_id, arm, wanted.profile, wanted.options, result_limit,
            wanted.settings, wanted.versions)
        RETURNING r.id INTO run_id;
    END IF;
    RETURN run_id;
END;
$function$;

-- _finish_run: store a run's metrics, one object a query and one for all, and mark it done.
-- Arrays of different lengths, an unknown run and a query that is not in it are errors.
CREATE OR REPLACE FUNCTION pgblend._finish_run(
    run_id bigint,
    query_ids bigint[],
    query_metrics jsonb[],
    metrics jsonb
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    stored integer;
BEGIN
    UPDATE pgblend_data.evaluation_result AS e SET metrics = e.metrics || m.metrics
    FROM unnest(query_ids, query_metrics) AS m (query_id, metrics)
    WHERE e.run_id = _finish_run.run_id AND e.query_id = m.query_id;
    GET DIAGNOSTICS stored = ROW_COUNT;
    UPDATE pgblend_data.evaluation_run AS r
    SET metrics = _finish_run.metrics, state = 'done', finished_at = now()
    WHERE r.id = run_id;
    IF NOT FOUND OR stored <> cardinality(query_ids) THEN
        RAISE EXCEPTION 'run % has % of % queries',
            coalesce(run_id::text, 'NULL'), stored, cardinality(query_ids)
            USING ERRCODE = '22023', HINT = 'It was removed meanwhile: run it again.';
    END IF;
END;
$function$;
