-- _has_edges: whether there is an edge that the caller may see.
CREATE OR REPLACE FUNCTION pgblend._has_edges()
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM pgblend_data.edge);
