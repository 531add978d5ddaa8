-- chunks: the chunks that the caller may read.
CREATE OR REPLACE VIEW blend.chunks WITH (security_invoker = true) AS
SELECT
    h.id AS chunk_id,
    h.document_id,
    h.chunk_index,
    c.name AS collection,
    h.content,
    h.heading,
    h.kind,
    h.start_line,
    h.end_line,
    h.start_offset,
    h.end_offset,
    h.own_start,
    h.pages,
    h.token_count,
    h.metadata
FROM pgblend_data.chunk AS h
INNER JOIN pgblend_data.collection AS c ON h.collection_id = c.id;

COMMENT ON COLUMN blend.chunks.chunk_id IS 'Number of the chunk; new text has a new one.';
COMMENT ON COLUMN blend.chunks.document_id IS 'Its document.';
COMMENT ON COLUMN blend.chunks.chunk_index IS 'Place in the document, from 0.';
COMMENT ON COLUMN blend.chunks.collection IS 'Name of its collection.';
COMMENT ON COLUMN blend.chunks.content IS 'Text, with the overlap at its beginning.';
COMMENT ON COLUMN blend.chunks.heading IS 'Headings that it stands under.';
COMMENT ON COLUMN blend.chunks.kind IS 'code, doc, signature or metadata.';
COMMENT ON COLUMN blend.chunks.start_line IS 'First line in the document''s text, from 1.';
COMMENT ON COLUMN blend.chunks.end_line IS 'Last line.';
COMMENT ON COLUMN blend.chunks.start_offset IS 'First character in the document''s text, from 0.';
COMMENT ON COLUMN blend.chunks.end_offset IS 'Character after the last.';
COMMENT ON COLUMN blend.chunks.own_start IS
'Character of content where its own text begins, after the overlap.';
COMMENT ON COLUMN blend.chunks.pages IS 'Pages that it touches.';
COMMENT ON COLUMN blend.chunks.token_count IS 'Tokens of content (cl100k_base).';
COMMENT ON COLUMN blend.chunks.metadata IS 'Metadata of its own, over the document''s.';
