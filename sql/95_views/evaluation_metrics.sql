-- evaluation_metrics: every metric of every run that is done, one row each.
CREATE OR REPLACE VIEW blend.evaluation_metrics WITH (security_invoker = true) AS
SELECT
    r.id AS run_id,  -- Number of the run.
    s.name AS judged_set,  -- Name of the judged set.
    r.arm,  -- hybrid, or the one arm that was searched.
    r.profile,  -- Profile of a hybrid search.
    m.key AS metric,  -- Name of the metric, such as nDCG@10.
    m.value::double precision AS value,  -- Mean over the queries; of times a percentile.
    r.finished_at  -- When the run was done.
FROM pgblend_data.evaluation_run AS r
INNER JOIN pgblend_data.judged_set AS s ON r.set_id = s.id
CROSS JOIN LATERAL jsonb_each_text(r.metrics) AS m
WHERE r.state = 'done';
