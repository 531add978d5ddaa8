-- collections: the collections that the caller may read, with their sizes.
CREATE OR REPLACE VIEW blend.collections WITH (security_invoker = true) AS
SELECT
    c.id,
    c.name,
    c.text_search_config,
    c.settings,
    (
        SELECT count(*)
        FROM pgblend_data.document AS d
        WHERE d.collection_id = c.id
    ) AS documents,
    (
        SELECT count(*)
        FROM pgblend_data.chunk AS h
        WHERE h.collection_id = c.id
    ) AS chunks,
    (
        SELECT count(*)
        FROM pgblend_data.embedding_queue AS q
        INNER JOIN pgblend_data.embedding_space AS s ON q.space = s.name
        WHERE s.active AND q.collection_id = c.id
    ) AS chunks_without_vector,
    c.created_at
FROM pgblend_data.collection AS c;

COMMENT ON COLUMN blend.collections.id IS 'Internal number.';
COMMENT ON COLUMN blend.collections.name IS 'Name, as search functions take it.';
COMMENT ON COLUMN blend.collections.text_search_config IS
'Text search configuration of documents that name none.';
COMMENT ON COLUMN blend.collections.settings IS
'Settings that differ from the database''s; see blend.setting_catalog().';
COMMENT ON COLUMN blend.collections.documents IS 'Number of documents.';
COMMENT ON COLUMN blend.collections.chunks IS 'Number of chunks.';
COMMENT ON COLUMN blend.collections.chunks_without_vector IS
'Chunks that wait for a vector in the active embedding space.';
COMMENT ON COLUMN blend.collections.created_at IS 'When it was made.';
