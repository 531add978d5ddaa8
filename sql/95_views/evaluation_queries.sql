-- evaluation_queries: what each query found in each run that the caller may read.
CREATE OR REPLACE VIEW blend.evaluation_queries WITH (security_invoker = true) AS
SELECT
    e.run_id,
    q.key AS query_key,
    q.query,
    (e.metrics ->> 'nDCG@10')::double precision AS ndcg_10,
    e.metrics,
    e.source_keys,
    e.scores,
    e.passages,
    e.latency_ms,
    e.degraded
FROM pgblend_data.evaluation_result AS e
INNER JOIN pgblend_data.judged_query AS q ON e.query_id = q.id;

COMMENT ON COLUMN blend.evaluation_queries.run_id IS 'Number of the run.';
COMMENT ON COLUMN blend.evaluation_queries.query_key IS 'Key of the query within its set.';
COMMENT ON COLUMN blend.evaluation_queries.query IS 'The query.';
COMMENT ON COLUMN blend.evaluation_queries.ndcg_10 IS 'nDCG@10, NULL until the run is done.';
COMMENT ON COLUMN blend.evaluation_queries.metrics IS 'All metrics of the query.';
COMMENT ON COLUMN blend.evaluation_queries.source_keys IS 'Documents found, best first.';
COMMENT ON COLUMN blend.evaluation_queries.scores IS 'Their scores.';
COMMENT ON COLUMN blend.evaluation_queries.passages IS 'Passages that they were found by.';
COMMENT ON COLUMN blend.evaluation_queries.latency_ms IS 'Time of the search, in milliseconds.';
COMMENT ON COLUMN blend.evaluation_queries.degraded IS 'What the search did without.';
