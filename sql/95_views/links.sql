-- links: what documents say about others, as it is written, and what it means.
CREATE OR REPLACE VIEW blend.links WITH (security_invoker = true) AS
SELECT
    c.name AS collection,  -- Name of the collection.
    d.source_key,  -- Key of the document that says so.
    l.edge_type,  -- What it says: link, embed, cites, …
    l.kind,  -- How the target is written: path, wiki, uri, key or name.
    l.target,  -- The target as it is written.
    l.line,  -- Line of the source that it stands in.
    l.weight,  -- How much it counts; 1 unless given.
    l.origin,  -- Whether the text says so, or data.
    l.metadata,  -- What else is known of it.
    t.source_key AS target_key,  -- Key of the document that it means; NULL while that is not there.
    l.document_id,  -- The document that says so.
    l.target_document_id  -- The document that it means; NULL while that is not there.
FROM pgblend_data.link AS l
INNER JOIN pgblend_data.collection AS c ON l.collection_id = c.id
INNER JOIN pgblend_data.document AS d ON l.document_id = d.id
LEFT JOIN pgblend_data.document AS t ON l.target_document_id = t.id;
