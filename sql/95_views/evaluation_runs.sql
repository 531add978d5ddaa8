-- evaluation_runs: the evaluation runs that the caller may read, with the main figures as columns.
CREATE OR REPLACE VIEW blend.evaluation_runs WITH (security_invoker = true) AS
SELECT
    r.id AS run_id,  -- Number of the run.
    s.name AS judged_set,  -- Name of the judged set.
    r.arm,  -- hybrid, or the one arm that was searched.
    r.profile,  -- Profile of a hybrid search.
    r.state,  -- running (also: interrupted) or done.
    totals.queries,  -- Queries searched so far.
    -- Queries whose search went on without a stage: their figures are not the profile's.
    totals.degraded_queries,
    (r.metrics ->> 'nDCG@10')::double precision AS ndcg_10,  -- Mean nDCG@10.
    -- Mean recall in the first 100 documents.
    (r.metrics ->> 'R@100')::double precision AS recall_100,
    (r.metrics ->> 'AP')::double precision AS mean_average_precision,  -- Mean average precision.
    -- Median time of a search of result_limit rows, in milliseconds.
    (r.metrics ->> 'latency_p50_ms')::double precision AS latency_p50_ms,
    (r.metrics ->> 'latency_p95_ms')::double precision AS latency_p95_ms,  -- Its 95th percentile.
    r.metrics,  -- All metrics, NULL until it is done.
    r.result_limit,  -- Passages asked for per query.
    r.options,  -- Options that the searches were given.
    r.settings,  -- Every search setting in force.
    r.versions,  -- Versions of the server, and numbers of documents, queries and judgements.
    r.started_by,  -- Who started it.
    r.started_at,  -- When it was started.
    r.finished_at  -- When it was done.
FROM pgblend_data.evaluation_run AS r
INNER JOIN pgblend_data.judged_set AS s ON r.set_id = s.id
CROSS JOIN LATERAL (
    SELECT
        count(*) AS queries,
        count(*) FILTER (WHERE e.degraded <> '{}') AS degraded_queries
    FROM pgblend_data.evaluation_result AS e
    WHERE e.run_id = r.id
) AS totals;
