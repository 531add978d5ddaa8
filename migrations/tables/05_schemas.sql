-- Schemas. What stands before 10_roles needs no table, and is an extension's own (as_extension).

CREATE SCHEMA blend;
CREATE SCHEMA pgblend;
COMMENT ON SCHEMA blend IS 'pgblend: the functions to call and the views to look at.';
COMMENT ON SCHEMA pgblend IS 'pgblend: private routines.';
COMMENT ON SCHEMA pgblend_data IS 'pgblend: tables. Query them through the schema blend.';
