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
