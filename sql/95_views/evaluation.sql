-- experiments: two profiles that live searches compare, or compared; what one came to is there when
-- it is stopped (until then admins ask experiment_status).
CREATE OR REPLACE VIEW blend.experiments WITH (security_invoker = true) AS
SELECT
    e.id AS experiment_id,  -- Id, as rows of its searches have it in details.
    e.profile,  -- Profile whose searches take part.
    e.rival,  -- Profile that it is compared with.
    e.settings,  -- Settings of the profile, by which searches took part.
    e.rival_settings,  -- Those of the rival.
    e.started_by,  -- Who began it.
    e.started_at,  -- When.
    e.stopped_by,  -- Who ended it; NULL while it runs.
    e.stopped_at,  -- When.
    e.outcome  -- What it came to: searches, clicked, votes of each, evidence, verdict.
FROM pgblend_data.experiment AS e;

-- judged_sets: the judged sets that the caller may read, with their sizes.
CREATE OR REPLACE VIEW blend.judged_sets WITH (security_invoker = true) AS
SELECT
    s.name,  -- Name.
    c.name AS collection,  -- Its collection; NULL means all.
    s.description,  -- Where it comes from.
    s.embedding_model,  -- Model of its queries' vectors; NULL where it brings none.
    count(DISTINCT q.id) AS queries,  -- Number of queries.
    -- Queries with a relevant document: those that a run searches.
    count(DISTINCT q.id) FILTER (WHERE j.grade > 0) AS judged_queries,
    count(j.query_id) AS judgements,  -- Number of judgements.
    s.created_by,  -- Who made it.
    s.created_at  -- When it was made.
FROM pgblend_data.judged_set AS s
LEFT JOIN pgblend_data.collection AS c ON s.collection_id = c.id
LEFT JOIN pgblend_data.judged_query AS q ON s.id = q.set_id
LEFT JOIN pgblend_data.judgement AS j ON q.id = j.query_id
GROUP BY s.id, c.name;

-- judgements: the judgements that the caller may read, with their queries.
CREATE OR REPLACE VIEW blend.judgements WITH (security_invoker = true) AS
SELECT
    s.name AS judged_set,  -- Name of the judged set.
    c.name AS collection,  -- Its collection; NULL means all.
    q.key AS query_key,  -- Key of the query within the set.
    q.query,  -- The query.
    j.source_key,  -- The judged document.
    j.grade,  -- Above 0 relevant, the higher the better.
    j.judged_by,  -- Who judged.
    j.judged_at  -- When.
FROM pgblend_data.judgement AS j
INNER JOIN pgblend_data.judged_query AS q ON j.query_id = q.id
INNER JOIN pgblend_data.judged_set AS s ON q.set_id = s.id
LEFT JOIN pgblend_data.collection AS c ON s.collection_id = c.id;

-- evaluation_runs: the evaluation runs that the caller may read, with the main figures as columns.
CREATE OR REPLACE VIEW blend.evaluation_runs WITH (security_invoker = true) AS
SELECT
    r.id AS run_id,  -- Number of the run.
    s.name AS judged_set,  -- Name of the judged set.
    c.name AS collection,  -- Its collection; NULL means all.
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
LEFT JOIN pgblend_data.collection AS c ON s.collection_id = c.id
CROSS JOIN LATERAL (
    SELECT
        count(*) AS queries,
        count(*) FILTER (WHERE e.degraded <> '{}') AS degraded_queries
    FROM pgblend_data.evaluation_result AS e
    WHERE e.run_id = r.id
) AS totals;

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

-- evaluation_metrics: every metric of every run that is done, one row each.
CREATE OR REPLACE VIEW blend.evaluation_metrics WITH (security_invoker = true) AS
SELECT
    t.run_id,  -- Number of the run.
    t.judged_set,  -- Name of the judged set.
    t.arm,  -- hybrid, or the one arm that was searched.
    t.profile,  -- Profile of a hybrid search.
    t.metric,  -- Name of the metric, such as nDCG@10.
    t.value,  -- Mean over the queries; of times a percentile.
    t.finished_at  -- When the run was done.
FROM blend.quality_trend AS t;

-- quality_trend: every metric of every run that is done, beside the run before of the same kind.
CREATE OR REPLACE VIEW blend.quality_trend WITH (security_invoker = true) AS
SELECT
    s.name AS judged_set,  -- Name of the judged set.
    c.name AS collection,  -- Its collection; NULL means all.
    r.arm,  -- hybrid, or the one arm that was searched.
    r.profile,  -- Profile of a hybrid search.
    m.key AS metric,  -- Name of the metric, such as nDCG@10.
    r.options,  -- Options that the searches were given.
    r.result_limit,  -- Passages asked for per query.
    r.id AS run_id,  -- Number of the run.
    r.finished_at,  -- When the run was done.
    m.value::double precision AS value,  -- Mean over the queries; of times a percentile.
    lag(r.id) OVER earlier AS previous_run_id,  -- The run before; NULL for the first.
    lag(m.value::double precision) OVER earlier AS previous_value,  -- Its value.
    -- value - previous_value: above 0 is better, but for duplicates and times.
    m.value::double precision - lag(m.value::double precision) OVER earlier AS change,
    -- Whether every search setting was as in the run before.
    r.settings = lag(r.settings) OVER earlier AS same_settings,
    -- Whether the server, the model, and the numbers of documents, queries and judgements were.
    r.versions = lag(r.versions) OVER earlier AS same_versions
FROM pgblend_data.evaluation_run AS r
INNER JOIN pgblend_data.judged_set AS s ON r.set_id = s.id
LEFT JOIN pgblend_data.collection AS c ON s.collection_id = c.id
CROSS JOIN LATERAL jsonb_each_text(r.metrics) AS m
WHERE r.state = 'done'
WINDOW earlier AS (
    PARTITION BY r.set_id, r.arm, r.profile, r.options, r.result_limit, m.key
    ORDER BY r.finished_at, r.id
);
