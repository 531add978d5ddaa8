-- entities: people, places and things that passages speak of.
CREATE OR REPLACE VIEW blend.entities WITH (security_invoker = true) AS
SELECT
    pgblend._node_name(t.id * 4 + 2) AS node,
    c.name AS collection,
    t.entity_type,
    t.name,
    t.description,
    (
        SELECT count(*) FROM pgblend_data.edge AS e
        WHERE e.node = t.id * 4 + 2 AND e.is_reverse AND e.neighbour & 3 = 1
    ) AS passages
FROM pgblend_data.entity AS t
INNER JOIN pgblend_data.collection AS c ON t.collection_id = c.id;

COMMENT ON COLUMN blend.entities.node IS 'The node in the graph: entity:ID.';
COMMENT ON COLUMN blend.entities.collection IS 'Name of the collection.';
COMMENT ON COLUMN blend.entities.entity_type IS 'What it is: person, place, …';
COMMENT ON COLUMN blend.entities.name IS 'Its name, as it was first met.';
COMMENT ON COLUMN blend.entities.description IS 'What the texts say it is.';
COMMENT ON COLUMN blend.entities.passages IS 'How many passages speak of it.';
