-- edges: the edges whose both ends the caller may see, one row each.
CREATE OR REPLACE VIEW blend.edges WITH (security_invoker = true) AS
SELECT
    pgblend._node_name(e.node) AS source,  -- Where it begins: document:ID, chunk:ID or entity:ID.
    pgblend._node_name(e.neighbour) AS target,  -- Where it leads.
    e.edge_type,  -- What it says: link, embed, cites, mentions, foreign_key, …
    e.weight,  -- How much it counts; 1 unless given.
    e.origin,  -- Who says so: text, data, hand, mention, model or key.
    e.metadata,  -- What else is known: the lines of a link, for example.
    c.name AS collection,  -- Collection of its source.
    nullif(e.document_id, 0) AS document_id,  -- The document that says so; NULL where none does.
    nullif(e.chunk_id, 0) AS chunk_id  -- The passage that says so; NULL where none does.
FROM pgblend_data.edge AS e
INNER JOIN pgblend_data.collection AS c ON e.collection_id = c.id
WHERE NOT e.is_reverse;
