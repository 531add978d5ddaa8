-- Rows of a judged set, and rows of a role.

-- What is judged is of its set's collection. A set without a collection is the admins'.
CREATE POLICY judged_query_own_set_id ON pgblend_data.judged_query
AS RESTRICTIVE USING (true) WITH CHECK (
    collection_id IS NOT DISTINCT FROM (
        SELECT p.collection_id FROM pgblend_data.judged_set AS p WHERE p.id = judged_query.set_id)
);
CREATE POLICY judgement_own_query_id ON pgblend_data.judgement
AS RESTRICTIVE USING (true) WITH CHECK (
    collection_id IS NOT DISTINCT FROM (
        SELECT p.collection_id FROM pgblend_data.judged_query AS p WHERE p.id = judgement.query_id)
);
CREATE POLICY evaluation_run_own_set_id ON pgblend_data.evaluation_run
AS RESTRICTIVE USING (true) WITH CHECK (
    collection_id IS NOT DISTINCT FROM (
        SELECT p.collection_id FROM pgblend_data.judged_set AS p WHERE p.id = evaluation_run.set_id)
);
CREATE POLICY evaluation_result_own_run_id ON pgblend_data.evaluation_result
AS RESTRICTIVE USING (true) WITH CHECK (
    collection_id IS NOT DISTINCT FROM (
        SELECT p.collection_id FROM pgblend_data.evaluation_run AS p
        WHERE p.id = evaluation_result.run_id)
);
CREATE POLICY evaluation_result_own_query_id ON pgblend_data.evaluation_result
AS RESTRICTIVE USING (true) WITH CHECK (
    collection_id IS NOT DISTINCT FROM (
        SELECT p.collection_id FROM pgblend_data.judged_query AS p
        WHERE p.id = evaluation_result.query_id)
);

-- Workers are their role's own.
CREATE POLICY embedding_worker_read ON pgblend_data.embedding_worker FOR SELECT USING (true);
CREATE POLICY embedding_worker_own ON pgblend_data.embedding_worker
USING (started_by = CURRENT_USER);
CREATE POLICY embedding_worker_admin ON pgblend_data.embedding_worker
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.embedding_worker ENABLE ROW LEVEL SECURITY;
