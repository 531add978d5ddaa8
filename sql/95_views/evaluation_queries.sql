-- evaluation_queries: what each query found in each run that the caller may read.
CREATE OR REPLACE VIEW blend.evaluation_queries WITH (security_invoker = true) AS
SELECT
    e.run_id,  -- Number of the run.
    q.key AS query_key,  -- Key of the query within its set.
    q.query,  -- The query.
    (e.metrics ->> 'nDCG@10')::double precision AS ndcg_10,  -- nDCG@10, NULL until the run is done.
    e.metrics,  -- All metrics of the query.
    e.source_keys,  -- Documents found, best first.
    e.scores,  -- Their scores.
    e.passages,  -- Passages that they were found by.
    e.latency_ms,  -- Time of the search, in milliseconds.
    e.degraded  -- What the search did without.
FROM pgblend_data.evaluation_result AS e
INNER JOIN pgblend_data.judged_query AS q ON e.query_id = q.id;
