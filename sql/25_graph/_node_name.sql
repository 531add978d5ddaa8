-- _node_name: a node as kind:id, from its number; NULL for NULL.
CREATE OR REPLACE FUNCTION pgblend._node_name(node bigint)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN (ARRAY['document', 'chunk', 'entity'])[(node & 3) + 1] || ':' || (node >> 2);
