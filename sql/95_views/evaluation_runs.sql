-- evaluation_runs: the evaluation runs that the caller may read, with the main figures as columns.
CREATE OR REPLACE VIEW blend.evaluation_runs WITH (security_invoker = true) AS
SELECT
    r.id AS run_id,
    s.name AS judged_set,
    r.arm,
    r.profile,
    r.state,
    totals.queries,
    totals.degraded_queries,
    (r.metrics ->> 'nDCG@10')::double precision AS ndcg_10,
    (r.metrics ->> 'R@100')::double precision AS recall_100,
    (r.metrics ->> 'AP')::double precision AS mean_average_precision,
    (r.metrics ->> 'latency_p50_ms')::double precision AS latency_p50_ms,
    (r.metrics ->> 'latency_p95_ms')::double precision AS latency_p95_ms,
    r.metrics,
    r.result_limit,
    r.options,
    r.settings,
    r.versions,
    r.started_by,
    r.started_at,
    r.finished_at
FROM pgblend_data.evaluation_run AS r
INNER JOIN pgblend_data.judged_set AS s ON r.set_id = s.id
CROSS JOIN LATERAL (
    SELECT
        count(*) AS queries,
        count(*) FILTER (WHERE e.degraded <> '{}') AS degraded_queries
    FROM pgblend_data.evaluation_result AS e
    WHERE e.run_id = r.id
) AS totals;

COMMENT ON COLUMN blend.evaluation_runs.run_id IS 'Number of the run.';
COMMENT ON COLUMN blend.evaluation_runs.judged_set IS 'Name of the judged set.';
COMMENT ON COLUMN blend.evaluation_runs.arm IS 'hybrid, or the one arm that was searched.';
COMMENT ON COLUMN blend.evaluation_runs.profile IS 'Profile of a hybrid search.';
COMMENT ON COLUMN blend.evaluation_runs.state IS 'running (also: interrupted) or done.';
COMMENT ON COLUMN blend.evaluation_runs.queries IS 'Queries searched so far.';
COMMENT ON COLUMN blend.evaluation_runs.degraded_queries IS
'Queries whose search went on without a stage: their figures are not the profile''s.';
COMMENT ON COLUMN blend.evaluation_runs.ndcg_10 IS 'Mean nDCG@10.';
COMMENT ON COLUMN blend.evaluation_runs.recall_100 IS 'Mean recall in the first 100 documents.';
COMMENT ON COLUMN blend.evaluation_runs.mean_average_precision IS 'Mean average precision.';
COMMENT ON COLUMN blend.evaluation_runs.latency_p50_ms IS
'Median time of a search of result_limit rows, in milliseconds.';
COMMENT ON COLUMN blend.evaluation_runs.latency_p95_ms IS 'Its 95th percentile.';
COMMENT ON COLUMN blend.evaluation_runs.metrics IS 'All metrics, NULL until it is done.';
COMMENT ON COLUMN blend.evaluation_runs.result_limit IS 'Passages asked for per query.';
COMMENT ON COLUMN blend.evaluation_runs.options IS 'Options that the searches were given.';
COMMENT ON COLUMN blend.evaluation_runs.settings IS 'Every search setting in force.';
COMMENT ON COLUMN blend.evaluation_runs.versions IS
'Versions of the server, and numbers of documents, queries and judgements.';
COMMENT ON COLUMN blend.evaluation_runs.started_by IS 'Who started it.';
COMMENT ON COLUMN blend.evaluation_runs.started_at IS 'When it was started.';
COMMENT ON COLUMN blend.evaluation_runs.finished_at IS 'When it was done.';
