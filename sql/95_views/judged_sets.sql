-- judged_sets: the judged sets that the caller may read, with their sizes.
CREATE OR REPLACE VIEW blend.judged_sets WITH (security_invoker = true) AS
SELECT
    s.name,
    c.name AS collection,
    s.description,
    s.embedding_model,
    count(DISTINCT q.id) AS queries,
    count(DISTINCT q.id) FILTER (WHERE j.grade > 0) AS judged_queries,
    count(j.query_id) AS judgements,
    s.created_by,
    s.created_at
FROM pgblend_data.judged_set AS s
LEFT JOIN pgblend_data.collection AS c ON s.collection_id = c.id
LEFT JOIN pgblend_data.judged_query AS q ON s.id = q.set_id
LEFT JOIN pgblend_data.judgement AS j ON q.id = j.query_id
GROUP BY s.id, c.name;

COMMENT ON COLUMN blend.judged_sets.name IS 'Name.';
COMMENT ON COLUMN blend.judged_sets.collection IS 'Its collection; NULL means all.';
COMMENT ON COLUMN blend.judged_sets.description IS 'Where it comes from.';
COMMENT ON COLUMN blend.judged_sets.embedding_model IS
'Model of its queries'' vectors; NULL where it brings none.';
COMMENT ON COLUMN blend.judged_sets.queries IS 'Number of queries.';
COMMENT ON COLUMN blend.judged_sets.judged_queries IS
'Queries with a relevant document: those that a run searches.';
COMMENT ON COLUMN blend.judged_sets.judgements IS 'Number of judgements.';
COMMENT ON COLUMN blend.judged_sets.created_by IS 'Who made it.';
COMMENT ON COLUMN blend.judged_sets.created_at IS 'When it was made.';
