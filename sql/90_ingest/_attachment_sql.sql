-- _attachment_sql: how an attached table is read, as SQL over its rows t; or what hinders it.
-- problem names a table or columns that are gone; the others are then NULL. key_of is the source
-- key: the text of a key of one column, or the JSON array of several. relevant is all that the
-- index takes of a row, its foreign keys among it. source reads the rows of the keys $1 as arrays
-- in the order of their keys; targets are objects of foreign key: source key of what it references.
-- Names are quoted, whatever the registry says: they go into statements of the owner.
CREATE OR REPLACE FUNCTION pgblend._attachment_sql(
    attached pgblend_data.attached_table,
    OUT problem text,
    OUT key_of text,
    OUT relevant text,
    OUT source text
)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    used text[] := attached.key_columns || attached.text_columns || attached.metadata_columns
        || array_remove(
            ARRAY[attached.title_column, attached.uri_column, attached.modified_column], NULL);
    types jsonb;
    is_single boolean := cardinality(attached.key_columns) = 1;
    keys text;
    joined text;
    targets text;
BEGIN
    SELECT jsonb_object_agg(c.attname, format_type(c.atttypid, c.atttypmod)) INTO types
    FROM pg_attribute AS c
    WHERE c.attrelid = attached.relation AND c.attnum > 0 AND NOT c.attisdropped;
    IF types IS NULL THEN
        problem := format('the table %s is gone', attached.table_name);
        RETURN;
    ELSIF NOT types ?& used THEN
        SELECT format('%s has no column %s (any more)', attached.relation,
            string_agg(DISTINCT quote_ident(u.name), ', '))
        INTO problem
        FROM unnest(used) AS u (name)
        WHERE NOT types ? u.name;
        RETURN;
    END IF;
    -- A date as JSON is ISO 8601, whatever the session's DateStyle; other keys are their text.
    SELECT
        string_agg(format('t.%I', k.name), ', ' ORDER BY k.place),
        string_agg(format('t.%I = %s::%s', k.name,
            CASE WHEN is_single THEN 'k.source_key'
                ELSE format('(k.source_key::jsonb ->> %s)', k.place - 1) END,
            types ->> k.name), ' AND ' ORDER BY k.place)
    INTO keys, joined
    FROM unnest(attached.key_columns) WITH ORDINALITY AS k (name, place);
    key_of := CASE
        WHEN is_single THEN format(CASE
            WHEN types ->> attached.key_columns[1] ~ '^(date|timestamp)'
            THEN 'to_jsonb(%s) #>> ''{}''' ELSE '%s::text' END, keys)
        ELSE format('jsonb_build_array(%s)::text', keys) END;
    SELECT format('ROW(%s)', string_agg(DISTINCT format('t.%I::text', u.name), ', '))
    INTO relevant
    FROM (
        SELECT unnest(used) AS name
        UNION ALL
        SELECT unnest(f.own_columns) FROM pgblend._foreign_keys(attached.relation) AS f
    ) AS u;
    SELECT format('jsonb_strip_nulls(jsonb_object(ARRAY[%s]::text[], ARRAY[%s]::text[]))',
        string_agg(quote_literal(f.constraint_name), ', ' ORDER BY f.constraint_name),
        string_agg(f.target_key, ', ' ORDER BY f.constraint_name))
    INTO targets
    FROM pgblend._foreign_keys(attached.relation) AS f;
    SELECT format(
        'SELECT array_agg(s.key) AS keys, array_agg(s.title) AS titles,
            array_agg(CASE WHEN btrim(s.content, E'' \t\r\n'') = '''' THEN s.title
                ELSE s.content END) AS contents,
            array_agg(s.metadata) AS metadata, array_agg(s.uri) AS uris,
            array_agg(s.modified_at) AS modified_at,
            array_agg(s.targets) AS targets
        FROM (
            SELECT k.source_key, %s AS key, concat_ws(E''\n\n'', %s) AS content,
                coalesce(%s::text, '''') AS title,
                (SELECT to_jsonb(r.*) FROM (SELECT %s) AS r) AS metadata,
                %s::text AS uri, %s::timestamptz AS modified_at, %s AS targets
            FROM unnest($1::text[]) AS k (source_key)
            INNER JOIN %s AS t ON %s
            ORDER BY k.source_key COLLATE "C"
        ) AS s
        WHERE s.key = s.source_key',
        key_of,
        (SELECT string_agg(format('nullif(t.%I::text, '''')', c.name), ', ' ORDER BY c.place)
            FROM unnest(attached.text_columns) WITH ORDINALITY AS c (name, place)),
        coalesce('t.' || quote_ident(attached.title_column), 'NULL'),
        (SELECT string_agg(format('t.%I', c.name), ', ' ORDER BY c.place)
            FROM unnest(attached.metadata_columns) WITH ORDINALITY AS c (name, place)),
        coalesce('t.' || quote_ident(attached.uri_column), 'NULL'),
        coalesce('t.' || quote_ident(attached.modified_column), 'NULL'),
        targets,
        attached.relation, joined)
    INTO source;
END;
$function$;

COMMENT ON FUNCTION pgblend._attachment_sql(pgblend_data.attached_table) IS
'How an attached table is read: SQL for the source key of a row t, for all that the index takes of '
'it, and to read the rows of keys; or the problem: a table or columns that are gone.';
