-- edges: the edges whose both ends the caller may see, one row each.
CREATE OR REPLACE VIEW blend.edges WITH (security_invoker = true) AS
SELECT
    pgblend._node_name(e.node) AS source,
    pgblend._node_name(e.neighbour) AS target,
    e.edge_type,
    e.weight,
    e.origin,
    e.metadata,
    c.name AS collection,
    nullif(e.document_id, 0) AS document_id,
    nullif(e.chunk_id, 0) AS chunk_id
FROM pgblend_data.edge AS e
INNER JOIN pgblend_data.collection AS c ON e.collection_id = c.id
WHERE NOT e.is_reverse;

COMMENT ON COLUMN blend.edges.source IS 'Where it begins: document:ID, chunk:ID or entity:ID.';
COMMENT ON COLUMN blend.edges.target IS 'Where it leads.';
COMMENT ON COLUMN blend.edges.edge_type IS
'What it says: link, embed, cites, mentions, foreign_key, …';
COMMENT ON COLUMN blend.edges.weight IS 'How much it counts; 1 unless given.';
COMMENT ON COLUMN blend.edges.origin IS 'Who says so: text, data, hand, mention, model or key.';
COMMENT ON COLUMN blend.edges.metadata IS 'What else is known: the lines of a link, for example.';
COMMENT ON COLUMN blend.edges.collection IS 'Collection of its source.';
COMMENT ON COLUMN blend.edges.document_id IS 'The document that says so; NULL where none does.';
COMMENT ON COLUMN blend.edges.chunk_id IS 'The passage that says so; NULL where none does.';
