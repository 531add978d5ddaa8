-- documents: the documents that the caller may read.
CREATE OR REPLACE VIEW blend.documents WITH (security_invoker = true) AS
SELECT
    d.id AS document_id,
    c.name AS collection,
    d.source_key,
    d.uri,
    d.title,
    d.text_search_config AS language,
    d.media_type,
    d.metadata,
    d.content_hash,
    totals.chunks,
    totals.tokens,
    d.ingested_at,
    d.modified_at,
    nullif(m.summary, '') AS summary
FROM pgblend_data.document AS d
INNER JOIN pgblend_data.collection AS c ON d.collection_id = c.id
LEFT JOIN pgblend_data.document_summary AS m ON d.id = m.document_id
CROSS JOIN LATERAL (
    SELECT
        count(*) AS chunks,
        coalesce(sum(h.token_count), 0) AS tokens
    FROM pgblend_data.chunk AS h
    WHERE h.document_id = d.id
) AS totals;

COMMENT ON COLUMN blend.documents.document_id IS
'Number of the document, kept when it is replaced.';
COMMENT ON COLUMN blend.documents.collection IS 'Name of its collection.';
COMMENT ON COLUMN blend.documents.source_key IS 'Key within the collection.';
COMMENT ON COLUMN blend.documents.uri IS 'Where it came from.';
COMMENT ON COLUMN blend.documents.title IS 'Title.';
COMMENT ON COLUMN blend.documents.language IS
'Text search configuration of its text: of the server, or zh, ja, ko, th, lo, km or my of pgblend.';
COMMENT ON COLUMN blend.documents.media_type IS 'Media type of its source.';
COMMENT ON COLUMN blend.documents.metadata IS 'Metadata: what filters look at.';
COMMENT ON COLUMN blend.documents.content_hash IS 'Hash by which unchanged sources are known.';
COMMENT ON COLUMN blend.documents.chunks IS 'Number of chunks.';
COMMENT ON COLUMN blend.documents.tokens IS 'Tokens of its chunks, overlaps counted in each.';
COMMENT ON COLUMN blend.documents.ingested_at IS 'When it was last added, replaced or updated.';
COMMENT ON COLUMN blend.documents.modified_at IS 'When its source was modified.';
COMMENT ON COLUMN blend.documents.summary IS
'Summary of two or three sentences, where the setting summaries has a model make one.';
