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
