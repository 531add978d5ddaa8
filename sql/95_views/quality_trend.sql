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
    measured.judged_set,
    measured.arm,
    measured.profile,
    measured.metric,
    measured.options,
    measured.result_limit,
    measured.run_id,
    measured.finished_at,
    measured.value,
    measured.previous_run_id,
    measured.previous_value,
    measured.value - measured.previous_value AS change,
    measured.settings = measured.previous_settings AS same_settings,
    measured.versions = measured.previous_versions AS same_versions
FROM measured;

COMMENT ON COLUMN blend.quality_trend.judged_set IS 'Name of the judged set.';
COMMENT ON COLUMN blend.quality_trend.arm IS 'hybrid, or the one arm that was searched.';
COMMENT ON COLUMN blend.quality_trend.profile IS 'Profile of a hybrid search.';
COMMENT ON COLUMN blend.quality_trend.metric IS 'Name of the metric, such as nDCG@10.';
COMMENT ON COLUMN blend.quality_trend.options IS 'Options that the searches were given.';
COMMENT ON COLUMN blend.quality_trend.result_limit IS 'Passages asked for per query.';
COMMENT ON COLUMN blend.quality_trend.run_id IS 'Number of the run.';
COMMENT ON COLUMN blend.quality_trend.finished_at IS 'When the run was done.';
COMMENT ON COLUMN blend.quality_trend.value IS 'Mean over the queries; of times a percentile.';
COMMENT ON COLUMN blend.quality_trend.previous_run_id IS 'The run before; NULL for the first.';
COMMENT ON COLUMN blend.quality_trend.previous_value IS 'Its value.';
COMMENT ON COLUMN blend.quality_trend.change IS
'value - previous_value: above 0 is better, but for duplicates and times.';
COMMENT ON COLUMN blend.quality_trend.same_settings IS
'Whether every search setting was as in the run before.';
COMMENT ON COLUMN blend.quality_trend.same_versions IS
'Whether the server, the model, and the numbers of documents, queries and judgements were.';
