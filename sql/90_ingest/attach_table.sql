-- attach_table: let a collection follow a table: each row is a document, searchable in the
-- transaction that writes it.
-- The document's text is that of text_columns, a blank line between them, or the title where that
-- is blank; metadata has the metadata_columns as JSON; source_key is the key's text, or a JSON
-- array of several columns, so that SELECT a.* FROM hybrid_search(…) AS r INNER JOIN articles AS a
-- ON a.id = r.source_key::bigint joins back. collection is made where there is none, and named as
-- the table where none is named; it must be empty. key_columns are the primary key's where left
-- out. Up to 1,000 rows are brought in at once, the rest by fill_table. A table that is attached
-- already is attached anew, with other columns. row_level NULL means: for partitioned tables,
-- partitions and subscribers of a replication.
-- A row's foreign keys to attached tables, its own among them, are edges foreign_key of the graph
-- to the referenced rows' documents, in either order of attachment, where they reference
-- key_columns in the order of their index; one that is added later counts for rows written from
-- then on, and for all after fill_table(…, anew => true): check_attached_tables tells. For members
-- of pgblend_admin who own the table.
CREATE OR REPLACE FUNCTION blend.attach_table(
    table_name text,
    text_columns text[],
    title_column text DEFAULT NULL,
    metadata_columns text[] DEFAULT '{}',
    collection text DEFAULT NULL,
    key_columns text[] DEFAULT NULL,
    uri_column text DEFAULT NULL,
    modified_column text DEFAULT NULL,
    row_level boolean DEFAULT NULL
)
RETURNS TABLE (collection_name text, rows_filled bigint, filled boolean)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    most_rows CONSTANT integer := 1000;
    wanted pgblend_data.attached_table;
    old pgblend_data.attached_table;
    problem text;
BEGIN
    wanted.relation := pgblend._user_table(attach_table.table_name);
    IF wanted.relation IS NULL THEN
        RAISE EXCEPTION 'there is no table %', coalesce(left(attach_table.table_name, 200), 'NULL')
            USING ERRCODE = '42P01', HINT = 'Name it with its schema: public.articles';
    END IF;
    wanted.table_name := attach_table.table_name;
    wanted.text_columns := attach_table.text_columns;
    wanted.title_column := attach_table.title_column;
    wanted.metadata_columns := coalesce(attach_table.metadata_columns, '{}');
    wanted.uri_column := attach_table.uri_column;
    wanted.modified_column := attach_table.modified_column;
    wanted.key_columns := coalesce(
        attach_table.key_columns, pgblend._primary_key(wanted.relation), '{}');
    wanted.row_level := coalesce(
        attach_table.row_level, pgblend._needs_row_triggers(wanted.relation));
    problem := pgblend._attachment_error(wanted);
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION '%', problem
            USING ERRCODE = '22023', HINT = 'See the comment of blend.attach_table.';
    END IF;
    SELECT a.* INTO old FROM pgblend_data.attached_table AS a
    WHERE a.relation = wanted.relation FOR UPDATE;
    wanted := pgblend._attachment_collection(wanted, old, attach_table.collection);
    IF old.id IS NOT NULL THEN
        PERFORM pgblend._drop_table_triggers(old);
        DELETE FROM pgblend_data.attached_table AS a WHERE a.id = old.id;
    END IF;
    INSERT INTO pgblend_data.attached_table (
        relation, table_name, collection_id, made_collection, key_columns, text_columns,
        title_column, metadata_columns, uri_column, modified_column, row_level, foreign_keys)
    VALUES (
        wanted.relation, wanted.table_name, wanted.collection_id, wanted.made_collection,
        wanted.key_columns, wanted.text_columns, wanted.title_column, wanted.metadata_columns,
        wanted.uri_column, wanted.modified_column, wanted.row_level,
        pgblend._foreign_key_names(wanted.relation))
    RETURNING id INTO wanted.id;
    PERFORM pgblend._create_table_triggers(wanted);
    SELECT c.name INTO STRICT collection_name
    FROM pgblend_data.collection AS c WHERE c.id = wanted.collection_id;
    rows_filled := blend.fill_table(attach_table.table_name, most_rows);
    IF rows_filled < most_rows THEN
        WHILE blend.fill_table(attach_table.table_name, most_rows) > 0 LOOP
        END LOOP;
    END IF;
    filled := rows_filled < most_rows;
    IF NOT filled THEN
        RAISE NOTICE 'the first % rows of % are in', rows_filled, wanted.relation
            USING HINT = format('Call SELECT blend.fill_table(%L) until it returns 0, or run: '
                'pgblend table fill', attach_table.table_name);
    END IF;
    RETURN NEXT;
END;
$function$;
