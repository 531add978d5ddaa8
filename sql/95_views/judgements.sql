-- judgements: the judgements that the caller may read, with their queries.
CREATE OR REPLACE VIEW blend.judgements WITH (security_invoker = true) AS
SELECT
    s.name AS judged_set,  -- Name of the judged set.
    q.key AS query_key,  -- Key of the query within the set.
    q.query,  -- The query.
    j.source_key,  -- The judged document.
    j.grade,  -- Above 0 relevant, the higher the better.
    j.judged_by,  -- Who judged.
    j.judged_at  -- When.
FROM pgblend_data.judgement AS j
INNER JOIN pgblend_data.judged_query AS q ON j.query_id = q.id
INNER JOIN pgblend_data.judged_set AS s ON q.set_id = s.id;
