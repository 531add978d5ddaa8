-- attached_tables: the tables that collections follow.
CREATE OR REPLACE VIEW blend.attached_tables WITH (security_invoker = true) AS
SELECT
    -- The table; one that was dropped by the name that it had.
    coalesce(r.oid::pg_catalog.regclass::text, a.table_name) AS table_name,
    c.name AS collection,  -- The collection that follows it.
    a.key_columns,  -- Columns whose text is source_key; of several, a JSON array.
    a.text_columns,  -- Columns that are searched.
    a.title_column,  -- Column of the title.
    a.metadata_columns,  -- Columns in metadata.
    a.uri_column,  -- Column of the URI.
    a.modified_column,  -- Column of the date.
    a.tenant_column,  -- Column of the tenant, whose rows alone are found; NULL: all are.
    a.row_filter,  -- Condition of rows that are documents; NULL: all.
    a.embedding_column,  -- Column of the row's vector; NULL: a model makes vectors.
    a.space,  -- Embedding space of these vectors.
    a.embed_long_rows,  -- Whether its model embeds passages after a row's first.
    a.text_format,  -- plain, or html where tags are left out.
    -- Whether triggers fire for each row, also in an apply worker, not for each statement.
    a.row_level,
    a.filled,  -- Whether all rows that were there before are in; see fill_table.
    a.problem,  -- Why changes could not be followed; the table is then to be filled anew.
    a.attached_by,  -- Who attached it.
    a.attached_at  -- When.
FROM pgblend_data.attached_table AS a
INNER JOIN pgblend_data.collection AS c ON a.collection_id = c.id
LEFT JOIN pg_catalog.pg_class AS r ON a.relation = r.oid;
