-- entities: people, places and things that passages speak of.
CREATE OR REPLACE VIEW pgblend.entities WITH (security_invoker = true) AS
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

COMMENT ON VIEW pgblend.entities IS 'People, places and things that passages speak of.';
COMMENT ON COLUMN pgblend.entities.node IS 'The node in the graph: entity:ID.';
COMMENT ON COLUMN pgblend.entities.collection IS 'Name of the collection.';
COMMENT ON COLUMN pgblend.entities.entity_type IS 'What it is: person, place, …';
COMMENT ON COLUMN pgblend.entities.name IS 'Its name, as it was first met.';
COMMENT ON COLUMN pgblend.entities.description IS 'What the texts say it is.';
COMMENT ON COLUMN pgblend.entities.passages IS 'How many passages speak of it.';
