-- evaluation_metrics: every metric of every run that is done, one row each.
CREATE OR REPLACE VIEW blend.evaluation_metrics WITH (security_invoker = true) AS
SELECT
    r.id AS run_id,
    s.name AS judged_set,
    r.arm,
    r.profile,
    m.key AS metric,
    m.value::double precision AS value,
    r.finished_at
FROM pgblend_data.evaluation_run AS r
INNER JOIN pgblend_data.judged_set AS s ON r.set_id = s.id
CROSS JOIN LATERAL jsonb_each_text(r.metrics) AS m
WHERE r.state = 'done';

COMMENT ON COLUMN blend.evaluation_metrics.run_id IS 'Number of the run.';
COMMENT ON COLUMN blend.evaluation_metrics.judged_set IS 'Name of the judged set.';
COMMENT ON COLUMN blend.evaluation_metrics.arm IS 'hybrid, or the one arm that was searched.';
COMMENT ON COLUMN blend.evaluation_metrics.profile IS 'Profile of a hybrid search.';
COMMENT ON COLUMN blend.evaluation_metrics.metric IS 'Name of the metric, such as nDCG@10.';
COMMENT ON COLUMN blend.evaluation_metrics.value IS
'Mean over the queries; of times a percentile.';
COMMENT ON COLUMN blend.evaluation_metrics.finished_at IS 'When the run was done.';
