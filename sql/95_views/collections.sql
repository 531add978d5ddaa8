-- collections: the collections that the caller may read, with their sizes.
CREATE OR REPLACE VIEW blend.collections WITH (security_invoker = true) AS
SELECT
    c.id,  -- Internal number.
    c.name,  -- Name, as search functions take it.
    c.text_search_config,  -- Text search configuration of documents that name none.
    c.settings,  -- Settings that differ from the database's; see blend.setting_catalog().
    (
        SELECT count(*)
        FROM pgblend_data.document AS d
        WHERE d.collection_id = c.id
    ) AS documents,  -- Number of documents.
    (
        SELECT count(*)
        FROM pgblend_data.chunk AS h
        WHERE h.collection_id = c.id
    ) AS chunks,  -- Number of chunks.
    (
        SELECT count(*)
        FROM pgblend_data.embedding_queue AS q
        INNER JOIN pgblend_data.embedding_space AS s ON q.space = s.name
        WHERE s.active AND q.collection_id = c.id
    ) AS chunks_without_vector,  -- Chunks that wait for a vector in the active embedding space.
    c.created_at  -- When it was made.
FROM pgblend_data.collection AS c;
