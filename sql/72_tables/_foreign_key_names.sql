-- _foreign_key_names: the names of a table's foreign keys, in order; an empty array where it has
-- none.
CREATE OR REPLACE FUNCTION pgblend._foreign_key_names(relation regclass)
RETURNS text[]
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT f.constraint_name FROM pgblend._foreign_keys(_foreign_key_names.relation) AS f
    ORDER BY f.constraint_name COLLATE "C"
);
