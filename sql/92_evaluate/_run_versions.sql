-- _run_versions: what a run's figures depend on beside its settings: versions and sizes.
-- A set on all collections counts what the caller may read.
CREATE OR REPLACE FUNCTION pgblend._run_versions(
    judged_set pgblend_data.judged_set,
    space text
)
RETURNS jsonb
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT jsonb_build_object(
        'postgresql', current_setting('server_version'),
        'pgvector', (
            SELECT e.extversion
            FROM pg_catalog.pg_extension AS e
            WHERE e.extname = 'vector'
        ),
        'embedding_space', (pgblend._searched_space(space)).name,
        'embedding_model', (pgblend._searched_space(space)).model,
        'documents', (
            SELECT count(*)
            FROM pgblend_data.document AS d
            WHERE judged_set.collection_id IS NULL OR d.collection_id = judged_set.collection_id
        ),
        'queries', (
            SELECT count(*)
            FROM pgblend_data.judged_query AS q
            WHERE q.set_id = judged_set.id
        ),
        'judgements', (
            SELECT count(*)
            FROM pgblend_data.judgement AS j
            INNER JOIN pgblend_data.judged_query AS q ON j.query_id = q.id
            WHERE q.set_id = judged_set.id
        )
    );
END;
