-- quality_trend: every metric of every run that is done, beside the run before of the same kind.
CREATE OR REPLACE VIEW blend.quality_trend WITH (security_invoker = true) AS
WITH measured AS (
    SELECT
        s.name AS judged_set,
        r.arm,
        r.profile,
        m.key AS metric,
        r.options,
        r.result_limit,
        r.id AS run_id,
        r.finished_at,
        m.value::double precision AS value,
        r.settings,
        r.versions,
        lag(r.id) OVER earlier AS previous_run_id,
        lag(m.value::double precision) OVER earlier AS previous_value,
        lag(r.settings) OVER earlier AS previous_settings,
        lag(r.versions) OVER earlier AS previous_versions
    FROM pgblend_data.evaluation_run AS r
    INNER JOIN pgblend_data.judged_set AS s ON r.set_id = s.id
    CROSS JOIN LATERAL jsonb_each_text(r.metrics) AS m
    WHERE r.state = 'done'
    WINDOW earlier AS (
        PARTITION BY r.set_id, r.arm, r.profile, r.options, r.result_limit, m.key
        ORDER BY r.finished_at, r.id
    )
)

SELECT
    measured.judged_set,  -- Name of the judged set.
    measured.arm,  -- hybrid, or the one arm that was searched.
    measured.profile,  -- Profile of a hybrid search.
    measured.metric,  -- Name of the metric, such as nDCG@10.
    measured.options,  -- Options that the searches were given.
    measured.result_limit,  -- Passages asked for per query.
    measured.run_id,  -- Number of the run.
    measured.finished_at,  -- When the run was done.
    measured.value,  -- Mean over the queries; of times a percentile.
    measured.previous_run_id,  -- The run before; NULL for the first.
    measured.previous_value,  -- Its value.
    -- value - previous_value: above 0 is better, but for duplicates and times.
    measured.value - measured.previous_value AS change,
    -- Whether every search setting was as in the run before.
    measured.settings = measured.previous_settings AS same_settings,
    -- Whether the server, the model, and the numbers of documents, queries and judgements were.
    measured.versions = measured.previous_versions AS same_versions
FROM measured;
