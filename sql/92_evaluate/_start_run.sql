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
