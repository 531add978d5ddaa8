-- documents: the documents that the caller may read.
CREATE OR REPLACE VIEW blend.documents WITH (security_invoker = true) AS
SELECT
    d.id AS document_id,  -- Number of the document, kept when it is replaced.
    c.name AS collection,  -- Name of its collection.
    d.source_key,  -- Key within the collection.
    d.uri,  -- Where it came from.
    d.title,  -- Title.
    -- Text search configuration of its text: of the server, or zh, ja, ko, th, lo, km or my of
    -- pgblend.
    d.text_search_config AS language,
    d.media_type,  -- Media type of its source.
    d.metadata,  -- Metadata: what filters look at.
    d.content_hash,  -- Hash by which unchanged sources are known.
    totals.chunks,  -- Number of chunks.
    totals.tokens,  -- Tokens of its chunks, overlaps counted in each.
    d.ingested_at,  -- When it was last added, replaced or updated.
    d.modified_at,  -- When its source was modified.
    -- Summary of two or three sentences, where the setting summaries has a model make one.
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
