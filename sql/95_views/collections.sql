-- collections: the collections that the caller may read, with their sizes.
CREATE OR REPLACE VIEW pgblend.collections WITH (security_invoker = true) AS
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

COMMENT ON VIEW pgblend.collections IS
'The collections that the caller may read, with their sizes.';
COMMENT ON COLUMN pgblend.collections.id IS 'Internal number.';
COMMENT ON COLUMN pgblend.collections.name IS 'Name, as search functions take it.';
COMMENT ON COLUMN pgblend.collections.text_search_config IS
'Text search configuration of documents that name none.';
COMMENT ON COLUMN pgblend.collections.settings IS
'Settings that differ from the database''s; see pgblend.setting_catalog().';
COMMENT ON COLUMN pgblend.collections.documents IS 'Number of documents.';
COMMENT ON COLUMN pgblend.collections.chunks IS 'Number of chunks.';
COMMENT ON COLUMN pgblend.collections.chunks_without_vector IS
'Chunks that wait for a vector in the active embedding space.';
COMMENT ON COLUMN pgblend.collections.created_at IS 'When it was made.';
