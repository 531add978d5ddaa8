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

-- entities: people, places and things that passages speak of.
CREATE OR REPLACE VIEW blend.entities WITH (security_invoker = true) AS
SELECT
    pgblend._node_name(t.id * 4 + 2) AS node,  -- The node in the graph: entity:ID.
    c.name AS collection,  -- Name of the collection.
    t.entity_type,  -- What it is: person, place, …
    t.name,  -- Its name, as it was first met.
    t.description,  -- What the texts say it is.
    (
        SELECT count(*) FROM pgblend_data.edge AS e
        WHERE e.node = t.id * 4 + 2 AND e.is_reverse AND e.neighbour & 3 = 1
    ) AS passages  -- How many passages speak of it.
FROM pgblend_data.entity AS t
INNER JOIN pgblend_data.collection AS c ON t.collection_id = c.id;
