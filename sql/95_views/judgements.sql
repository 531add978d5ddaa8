-- judgements: the judgements that the caller may read, with their queries.
CREATE OR REPLACE VIEW blend.judgements WITH (security_invoker = true) AS
SELECT
    s.name AS judged_set,
    q.key AS query_key,
    q.query,
    j.source_key,
    j.grade,
    j.judged_by,
    j.judged_at
FROM pgblend_data.judgement AS j
INNER JOIN pgblend_data.judged_query AS q ON j.query_id = q.id
INNER JOIN pgblend_data.judged_set AS s ON q.set_id = s.id;

COMMENT ON COLUMN blend.judgements.judged_set IS 'Name of the judged set.';
COMMENT ON COLUMN blend.judgements.query_key IS 'Key of the query within the set.';
COMMENT ON COLUMN blend.judgements.query IS 'The query.';
COMMENT ON COLUMN blend.judgements.source_key IS 'The judged document.';
COMMENT ON COLUMN blend.judgements.grade IS 'Above 0 relevant, the higher the better.';
COMMENT ON COLUMN blend.judgements.judged_by IS 'Who judged.';
COMMENT ON COLUMN blend.judgements.judged_at IS 'When.';
