-- links: what documents say about others, as it is written, and what it means.
CREATE OR REPLACE VIEW blend.links WITH (security_invoker = true) AS
SELECT
    c.name AS collection,
    d.source_key,
    l.edge_type,
    l.kind,
    l.target,
    l.line,
    l.weight,
    l.origin,
    l.metadata,
    t.source_key AS target_key,
    l.document_id,
    l.target_document_id
FROM pgblend_data.link AS l
INNER JOIN pgblend_data.collection AS c ON l.collection_id = c.id
INNER JOIN pgblend_data.document AS d ON l.document_id = d.id
LEFT JOIN pgblend_data.document AS t ON l.target_document_id = t.id;

COMMENT ON COLUMN blend.links.collection IS 'Name of the collection.';
COMMENT ON COLUMN blend.links.source_key IS 'Key of the document that says so.';
COMMENT ON COLUMN blend.links.edge_type IS 'What it says: link, embed, cites, …';
COMMENT ON COLUMN blend.links.kind IS
'How the target is written: path, wiki, uri, key or name.';
COMMENT ON COLUMN blend.links.target IS 'The target as it is written.';
COMMENT ON COLUMN blend.links.line IS 'Line of the source that it stands in.';
COMMENT ON COLUMN blend.links.weight IS 'How much it counts; 1 unless given.';
COMMENT ON COLUMN blend.links.origin IS 'Whether the text says so, or data.';
COMMENT ON COLUMN blend.links.metadata IS 'What else is known of it.';
COMMENT ON COLUMN blend.links.target_key IS
'Key of the document that it means; NULL while that is not there.';
COMMENT ON COLUMN blend.links.document_id IS 'The document that says so.';
COMMENT ON COLUMN blend.links.target_document_id IS
'The document that it means; NULL while that is not there.';
