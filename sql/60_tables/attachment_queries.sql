-- _attachment_queries: how an attached table is read, as SQL over its rows t; or what hinders it.
-- problem names a table or columns that are gone, or a key column of another type than _key_types;
-- the others are then NULL. key_of is the source key: the text of a key of one column, or the JSON
-- array of several. relevant is a row of all columns that the index takes, and of those of foreign
-- keys and the filter, to be compared as bytes. Both are evaluated with greater rights than the
-- table's owner has. So they hold output functions alone, and casts of text to types of
-- PostgreSQL's own. The queries are those of _read_as_owner, where the filter is evaluated as well;
-- targets are objects of foreign key: source key of what it references. Names are quoted, whatever
-- the registry says.
CREATE OR REPLACE FUNCTION pgblend._attachment_queries(
    attached pgblend_data.attached_table,
    OUT problem text,
    OUT key_of text,
    OUT relevant text,
    OUT rows_query text,
    OUT keys_query text,
    OUT next_query text
)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    used text[] := attached.key_columns || attached.text_columns || attached.metadata_columns
        || array_remove(
            ARRAY[attached.title_column, attached.uri_column, attached.modified_column,
                attached.embedding_column, attached.rights_column], NULL)
        || attached.filter_columns;
    types jsonb;
    is_single boolean := cardinality(attached.key_columns) = 1;
    columns record;
    targets text;
    texts text;
    source text := attached.relation;
BEGIN
    SELECT jsonb_object_agg(c.attname, c.atttypid::bigint) INTO types
    FROM pg_attribute AS c
    WHERE c.attrelid = attached.relation AND c.attnum > 0 AND NOT c.attisdropped;
    IF types IS NULL THEN
        problem := format('the table %s is gone', attached.table_name);
        RETURN;
    ELSIF (
        SELECT CASE attached.is_view WHEN true THEN c.relkind <> 'v' ELSE c.relkind NOT IN ('r', 'p') END
        FROM pg_class AS c WHERE c.oid = attached.relation)
    THEN
        -- It would be read with its owner's rights.
        problem := format('%s is no %s (any more)', attached.relation,
            CASE attached.is_view WHEN true THEN 'view' ELSE 'table' END);
        RETURN;
    ELSIF attached.row_filter IS NOT NULL AND attached.table_owner <> (
        SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = attached.relation)
    THEN
        -- The filter would get rights that whoever wrote it had not.
        problem := format('%s has another owner than when its row filter was written',
            attached.relation);
        RETURN;
    ELSIF NOT types ?& used THEN
        SELECT format('%s has no column %s (any more)', attached.relation,
            string_agg(DISTINCT quote_ident(u.name), ', '))
        INTO problem
        FROM unnest(used) AS u (name)
        WHERE NOT types ? u.name;
        RETURN;
    END IF;
    SELECT format('key column %I is of type %s, which has no text that is the same in all '
        'sessions: expected whole numbers, numeric, text, uuid, boolean, date or timestamp '
        'without time zone, of PostgreSQL''s own', k.name,
        format_type((types ->> k.name)::oid, NULL))
    INTO problem
    FROM unnest(attached.key_columns) AS k (name)
    WHERE (types ->> k.name)::oid <> ALL(pgblend._key_types())
    LIMIT 1;
    IF problem IS NOT NULL THEN
        RETURN;
    END IF;
    IF attached.embedding_column IS NOT NULL
        AND NOT pgblend._is_vector((types ->> attached.embedding_column)::oid)
    THEN
        problem := format(
            'embedding column %I is of type %s: expected vector or halfvec, of pgvector',
            attached.embedding_column,
            format_type((types ->> attached.embedding_column)::oid, NULL));
        RETURN;
    END IF;
    IF attached.rights_column IS NOT NULL AND (types ->> attached.rights_column)::oid
        <> ALL('{text,varchar,name,text[],varchar[],name[]}'::regtype[])
    THEN
        problem := format('rights column %I is of type %s: expected text[], or text',
            attached.rights_column, format_type((types ->> attached.rights_column)::oid, NULL));
        RETURN;
    END IF;
    SELECT
        string_agg(format('t.%I', k.name), ', ' ORDER BY k.place) AS names,
        string_agg(format('format(''%%s'', t.%I)', k.name), ', ' ORDER BY k.place) AS texts,
        string_agg(format('$1[%s]::%s', k.place, k.type_name), ', ' ORDER BY k.place) AS parts,
        string_agg(format('t.%I = %s::%s', k.name,
            CASE WHEN is_single THEN 'k.source_key'
                ELSE format('(k.source_key::jsonb ->> %s)', k.place - 1) END,
            k.type_name), ' AND ' ORDER BY k.place) AS matches,
        string_agg(format('format(''%%s'', t.%I)::%s', k.name, k.type_name), ', '
            ORDER BY k.place) AS own_values,
        min(pgblend._column_text(k.name, k.type_id)) AS first_text,
        min(k.type_name) ~ '[.](date|timestamp)$' AS is_date
    INTO columns
    FROM (
        SELECT n.name, n.place, t.oid AS type_id, format('pg_catalog.%I', t.typname) AS type_name
        FROM unnest(attached.key_columns) WITH ORDINALITY AS n (name, place)
        INNER JOIN pg_type AS t ON t.oid = (types ->> n.name)::oid
    ) AS k;
    -- A date as JSON is ISO 8601, whatever the session's DateStyle; other keys are their text.
    key_of := CASE
        WHEN NOT is_single THEN format('jsonb_build_array(%s)::text', columns.own_values)
        WHEN columns.is_date THEN format('to_jsonb(%s) #>> ''{}''', columns.own_values)
        ELSE columns.first_text END;
    SELECT format('ROW(%s)', string_agg(DISTINCT format('t.%I', u.name), ', '))
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
    IF attached.row_filter IS NOT NULL THEN
        -- Alone in its query, where its names are those of columns.
        source := format(
            E'(SELECT * FROM %s WHERE (%s\n))', attached.relation, attached.row_filter);
    END IF;
    SELECT string_agg(format('nullif(%s, '''')',
        pgblend._column_text(c.name, (types ->> c.name)::oid)), ', ' ORDER BY c.place)
    INTO texts
    FROM unnest(attached.text_columns) WITH ORDINALITY AS c (name, place);
    rows_query := format(
        E'SELECT s.key, NULL::text[], s.title,
            CASE WHEN btrim(s.content, E'' \\t\\r\\n'') = '''' THEN s.title ELSE s.content END,
            s.metadata, s.uri, s.modified_at, s.targets, s.embedding, s.readers
        FROM (
            SELECT k.source_key, %s AS key, %s AS content,
                coalesce(%s, '''') AS title,
                (SELECT to_jsonb(r.*) FROM (SELECT %s) AS r) AS metadata,
                %s AS uri, nullif(%s, '''')::timestamptz AS modified_at, %s AS targets,
                %s AS embedding, %s AS readers
            FROM unnest($1::text[]) AS k (source_key)
            INNER JOIN %s AS t ON %s
        ) AS s
        WHERE s.key = s.source_key
        ORDER BY s.key COLLATE "C"',
        key_of,
        -- _html_row makes text of an array of HTML, once it is read.
        format(CASE attached.text_format
            WHEN 'html' THEN 'array_to_json(ARRAY[%s])::text'
            ELSE E'concat_ws(E''\\n\\n'', %s)' END, texts),
        coalesce(pgblend._column_text(
            attached.title_column, (types ->> attached.title_column)::oid), 'NULL::text'),
        (SELECT string_agg(
                format('%s AS %I', pgblend._column_json(c.name, (types ->> c.name)::oid), c.name),
                ', ' ORDER BY c.place)
            FROM unnest(attached.metadata_columns) WITH ORDINALITY AS c (name, place)),
        coalesce(pgblend._column_text(
            attached.uri_column, (types ->> attached.uri_column)::oid), 'NULL::text'),
        coalesce(pgblend._column_text(
            attached.modified_column, (types ->> attached.modified_column)::oid), 'NULL::text'),
        targets,
        -- A vector leaves as its text as well: [1,2] is the array {1,2}.
        coalesce('translate(' || pgblend._column_text(
            attached.embedding_column, (types ->> attached.embedding_column)::oid)
            || ', ''[]'', ''{}'')::real[]', 'NULL::real[]'),
        CASE
            WHEN attached.rights_column IS NULL THEN 'NULL::text[]'
            WHEN (types ->> attached.rights_column)::oid = ANY('{text,varchar,name}'::regtype[])
                THEN format('CASE WHEN num_nulls(t.%1$I) = 0 THEN ARRAY[format(''%%s'', t.%1$I)] END',
                    attached.rights_column)
            ELSE pgblend._column_text(
                attached.rights_column, (types ->> attached.rights_column)::oid) || '::text[]' END,
        source, columns.matches);
    keys_query := format(
        'SELECT %s, ARRAY[%s], NULL::text, NULL::text, NULL::jsonb, NULL::text,
            NULL::timestamptz, NULL::jsonb, NULL::real[], NULL::text[]
        FROM %s AS t', key_of, columns.texts, source);
    next_query := keys_query || CASE WHEN attached.filled_to IS NULL THEN ''
        ELSE format(' WHERE (%s) > (%s)', columns.names, columns.parts) END
        || format(' ORDER BY %s LIMIT $2', columns.names);
END;
$function$;

-- _key_types: the types of key columns: PostgreSQL's own, whose values have one text in all
-- sessions.
-- They are known by their numbers, since a type of a user's may have any name.
CREATE OR REPLACE FUNCTION pgblend._key_types()
RETURNS oid[]
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN '{int2,int4,int8,numeric,text,varchar,bpchar,uuid,bool,date,timestamp}'::regtype[]::oid[];

-- _column_json: SQL for the value of a column of rows t that to_jsonb makes metadata of.
-- to_jsonb calls casts to json. So it gets only values of types that belong to PostgreSQL or to an
-- extension, and arrays of those. All others are texts, or arrays of texts. char(n) has no blanks
-- behind it.
CREATE OR REPLACE FUNCTION pgblend._column_json(column_name text, type_id oid)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
STRICT
AS $function$
DECLARE
    first_of_users CONSTANT oid := 16384;
    base oid := pgblend._base_type(type_id);
    element oid := (
        SELECT t.typelem FROM pg_type AS t
        WHERE t.oid = base AND t.typsubscript = 'array_subscript_handler'::regproc);
    decides oid := pgblend._base_type(coalesce(element, base));
BEGIN
    RETURN CASE
        WHEN base = 'bpchar'::regtype THEN pgblend._column_text(column_name, base)
        WHEN decides < first_of_users OR EXISTS (
            SELECT FROM pg_depend AS d
            INNER JOIN pg_type AS t ON t.oid = d.objid
            WHERE d.classid = 'pg_type'::regclass AND d.objid = decides AND d.deptype = 'e'
                AND t.typtype = 'b')
            THEN format('t.%I', column_name)
        WHEN element IS NOT NULL THEN format(
            'CASE WHEN num_nulls(t.%1$I) = 0 THEN ARRAY(
                SELECT CASE WHEN num_nulls(e.item) = 0 THEN format(''%%s'', e.item) END
                FROM (SELECT unnest(t.%1$I) AS item) AS e) END', column_name)
        ELSE pgblend._column_text(column_name, type_id) END;
END;
$function$;

-- _base_type: the type that a domain, or a domain over one, is made of; other types are their own.
CREATE OR REPLACE FUNCTION pgblend._base_type(type_id oid)
RETURNS oid
LANGUAGE plpgsql
STABLE PARALLEL SAFE
STRICT
AS $function$
DECLARE
    base oid;
BEGIN
    LOOP
        SELECT t.typbasetype INTO base FROM pg_type AS t WHERE t.oid = type_id AND t.typtype = 'd';
        IF NOT FOUND THEN
            RETURN type_id;
        END IF;
        type_id := base;
    END LOOP;
END;
$function$;

-- _column_text: SQL for the text of a column of rows t, which is NULL where the column is; NULL
-- for NULL.
-- A cast of a user's type may be code of that user. So every value leaves by its type's output
-- function (format), and only texts are cast, to types of PostgreSQL's own.
CREATE OR REPLACE FUNCTION pgblend._column_text(column_name text, type_id oid)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
STRICT
AS $function$
BEGIN
    RETURN format('CASE WHEN num_nulls(t.%1$I) = 0 THEN format(''%%s'', t.%1$I)%2$s END',
        column_name,
        -- Their output is not their text: t for true, blanks to the end of char(n).
        CASE WHEN type_id = ANY('{bool,bpchar,cidr,inet}'::regtype[]) THEN (
            SELECT format('::pg_catalog.%I::pg_catalog.text', t.typname)
            FROM pg_type AS t WHERE t.oid = type_id)
        ELSE '' END);
END;
$function$;
