-- attached_tables: the tables that collections follow.
CREATE OR REPLACE VIEW blend.attached_tables WITH (security_invoker = true) AS
SELECT
    a.relation::text AS table_name,
    c.name AS collection,
    a.key_columns,
    a.text_columns,
    a.title_column,
    a.metadata_columns,
    a.uri_column,
    a.modified_column,
    a.row_level,
    a.filled,
    a.problem,
    a.attached_by,
    a.attached_at
FROM pgblend_data.attached_table AS a
INNER JOIN pgblend_data.collection AS c ON a.collection_id = c.id;

COMMENT ON COLUMN blend.attached_tables.table_name IS 'The table.';
COMMENT ON COLUMN blend.attached_tables.collection IS 'The collection that follows it.';
COMMENT ON COLUMN blend.attached_tables.key_columns IS
'Columns whose text is source_key; of several, a JSON array.';
COMMENT ON COLUMN blend.attached_tables.text_columns IS 'Columns that are searched.';
COMMENT ON COLUMN blend.attached_tables.title_column IS 'Column of the title.';
COMMENT ON COLUMN blend.attached_tables.metadata_columns IS 'Columns in metadata.';
COMMENT ON COLUMN blend.attached_tables.uri_column IS 'Column of the URI.';
COMMENT ON COLUMN blend.attached_tables.modified_column IS 'Column of the date.';
COMMENT ON COLUMN blend.attached_tables.row_level IS
'Whether triggers fire for each row, also in an apply worker, not for each statement.';
COMMENT ON COLUMN blend.attached_tables.filled IS
'Whether all rows that were there before are in; see fill_table.';
COMMENT ON COLUMN blend.attached_tables.problem IS
'Why changes could not be followed; the table is then to be filled anew.';
COMMENT ON COLUMN blend.attached_tables.attached_by IS 'Who attached it.';
COMMENT ON COLUMN blend.attached_tables.attached_at IS 'When.';
