-- chunks: the chunks that the caller may read.
CREATE OR REPLACE VIEW blend.chunks WITH (security_invoker = true) AS
SELECT
    h.id AS chunk_id,  -- Number of the chunk; new text has a new one.
    h.document_id,  -- Its document.
    h.chunk_index,  -- Place in the document, from 0.
    c.name AS collection,  -- Name of its collection.
    h.content,  -- Text, with the overlap at its beginning.
    h.heading,  -- Headings that it stands under.
    h.kind,  -- code, doc, signature or metadata.
    h.start_line,  -- First line in the document's text, from 1.
    h.end_line,  -- Last line.
    h.start_offset,  -- First character in the document's text, from 0.
    h.end_offset,  -- Character after the last.
    h.own_start,  -- Character of content where its own text begins, after the overlap.
    h.pages,  -- Pages that it touches.
    h.token_count,  -- Tokens of content (cl100k_base).
    h.metadata  -- Metadata of its own, over the document's.
FROM pgblend_data.chunk AS h
INNER JOIN pgblend_data.collection AS c ON h.collection_id = c.id;
