-- attach_table: let a collection follow a table: each row is a document, searchable in the
-- transaction that writes it; on a coordinator of shards when pgblend worker has brought it there.
-- The text is that of text_columns, a blank line between them, or the title where that is blank.
-- metadata has the metadata_columns as JSON. source_key is the key's text, or a JSON array of
-- several columns: SELECT a.* FROM hybrid_search(…) AS r INNER JOIN articles AS a ON a.id =
-- r.source_key::bigint joins back. A collection that is not there is made, by default with the
-- table's name; it must be empty. key_columns are those of the primary key by default. The first
-- 1,000 rows are stored at once, fill_table stores the rest. A table that is attached already gets
-- the new columns. One that was dropped and restored gets its collection back, with all vectors of
-- rows that are as they were. row_filter is the condition of rows that are documents, such as NOT
-- deleted. Rows come and go with it in the transaction that changes them. It may hold immutable
-- operators and functions of PostgreSQL's own. text_format is plain, or html for text_columns
-- whose tags are left out, and titles of HTML. tenant_column says whom a row belongs to: searches
-- then find the rows of one tenant alone, that of the option tenant or of SET pgblend.tenant. A
-- view is read with its owner's rights, needs key_columns, and is not followed: fill_table with
-- anew brings its changes, or pgblend table fill. NULL row_level means true for partitions, for
-- subscribers of a replication and for tables with foreign partitions: triggers fire by row there,
-- which takes ten times as long. A row's foreign keys to attached tables, its own among them, are
-- edges of type foreign_key, whichever table is attached first. They must reference key_columns in
-- the order of their index. A foreign key that is added later counts for new rows, and for all
-- after fill_table(…, anew => true); check_attached_tables tells. embedding_column holds vectors
-- (of pgvector: vector or halfvec) that embedding_model made of the rows: no model is asked for
-- them, and they follow each change in its transaction. They are of an embedding space of that
-- model, which is made where there is none. The first passage of a row has its vector; further
-- ones wait for the model with embed_long_rows alone. Rows without a vector that the space holds
-- are told (attached_vectors). The model is asked for the vectors of twenty rows, and where these
-- are others, that is an error; probe => false asks nothing. rights_column says who may read a row:
-- an array of roles and groups, or one, as set_document_readers takes them. A change of it holds in
-- its transaction, which embeds nothing anew. Once rows are in, it can be neither named nor left
-- out. It stands neither beside embedding_column nor on a coordinator. The table's own row security
-- is not asked, which a warning tells: rights_column says what its policies say. For
-- members of pgblend_admin who own the table.
CREATE OR REPLACE FUNCTION blend.attach_table(
    table_name text,
    text_columns text[],
    title_column text DEFAULT NULL,
    metadata_columns text[] DEFAULT '{}',
    collection text DEFAULT NULL,
    key_columns text[] DEFAULT NULL,
    uri_column text DEFAULT NULL,
    modified_column text DEFAULT NULL,
    row_level boolean DEFAULT NULL,
    row_filter text DEFAULT NULL,
    text_format text DEFAULT 'plain',
    tenant_column text DEFAULT NULL,
    embedding_column text DEFAULT NULL,
    embedding_model text DEFAULT NULL,
    embed_long_rows boolean DEFAULT false,
    probe boolean DEFAULT true,
    rights_column text DEFAULT NULL
)
RETURNS TABLE (collection_name text, rows_filled bigint, filled boolean)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
AS $function$
DECLARE
    most_rows CONSTANT integer := 1000;
    wanted record := json_populate_record(NULL::pgblend_data.attached_table, '{}');
    old record := wanted;
    problem text;
    judged record;
BEGIN
    wanted.relation := pgblend._user_table(table_name);
    IF wanted.relation IS NULL THEN
        RAISE EXCEPTION 'there is no table %', coalesce(left(table_name, 200), 'NULL')
            USING ERRCODE = '42P01', HINT = 'Name it with its schema: public.articles';
    END IF;
    wanted.table_name := table_name;
    wanted.text_columns := text_columns;
    wanted.title_column := title_column;
    wanted.metadata_columns := coalesce(metadata_columns, '{}');
    IF tenant_column IS NOT NULL AND tenant_column <> ALL(wanted.metadata_columns) THEN
        wanted.metadata_columns := wanted.metadata_columns || tenant_column;
    END IF;
    wanted.tenant_column := tenant_column;
    wanted.rights_column := rights_column;
    wanted.uri_column := uri_column;
    wanted.modified_column := modified_column;
    wanted.key_columns := coalesce(
        key_columns, (
            SELECT array_agg(c.attname::text ORDER BY k.place)
            FROM pg_catalog.pg_constraint AS n
            CROSS JOIN LATERAL unnest(n.conkey) WITH ORDINALITY AS k (number, place)
            INNER JOIN pg_catalog.pg_attribute AS c ON c.attrelid = n.conrelid AND c.attnum = k.number
            WHERE n.conrelid = wanted.relation AND n.contype = 'p'), '{}');
    wanted.is_view := (
        SELECT c.relkind = 'v' FROM pg_catalog.pg_class AS c WHERE c.oid = wanted.relation);
    wanted.row_level := NOT wanted.is_view
        AND coalesce(row_level, pgblend._needs_row_triggers(wanted.relation));
    wanted.text_format := text_format;
    wanted.embedding_column := embedding_column;
    wanted.embed_long_rows := coalesce(embed_long_rows, false);
    judged := pgblend._row_filter(wanted.relation, row_filter);
    wanted.row_filter := judged.row_filter;
    wanted.filter_columns := judged.filter_columns;
    problem := coalesce(pgblend._attachment_error(wanted), judged.problem);
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION '%', problem
            USING ERRCODE = '22023', HINT = pgblend._attachment_hint(wanted.relation);
    END IF;
    old := coalesce((
        SELECT a
        FROM pgblend_data.attached_table AS a
        INNER JOIN pgblend_data.collection AS c ON a.collection_id = c.id
        WHERE a.relation = wanted.relation
            OR NOT EXISTS (SELECT FROM pg_catalog.pg_class AS r WHERE r.oid = a.relation)
            AND (c.name = normalize(collection)
                OR collection IS NULL AND pgblend._user_table(a.table_name) = wanted.relation)
        ORDER BY a.relation = wanted.relation DESC
        LIMIT 1), old);
    IF old.rights_column IS DISTINCT FROM wanted.rights_column
        AND pgblend._has_documents(old.collection_id)
    THEN
        RAISE EXCEPTION 'rights_column is %: expected %, by which the rows of % are in',
            coalesce(left(rights_column, 200), 'NULL'), coalesce(old.rights_column, 'NULL'),
            wanted.relation
            USING ERRCODE = '55000', HINT = 'To change who may read all rows, detach the table first: '
                'blend.detach_table(…)';
    END IF;
    wanted := pgblend._vector_space(wanted, embedding_model);
    wanted := pgblend._attachment_collection(wanted, old, collection);
    PERFORM pgblend._keep_attachment(wanted);
    PERFORM pgblend._settle_vectors(wanted, old);
    SELECT c.name INTO STRICT collection_name
    FROM pgblend_data.collection AS c WHERE c.id = wanted.collection_id;
    rows_filled := blend.fill_table(table_name, most_rows);
    filled := rows_filled < most_rows;
    IF filled THEN
        WHILE blend.fill_table(table_name, most_rows) > 0 LOOP
        END LOOP;
    ELSE
        RAISE NOTICE 'the first % rows of % are in', rows_filled, wanted.relation
            USING HINT = format('Call SELECT blend.fill_table(%L) until it returns 0, or run: '
                'pgblend table fill', table_name);
    END IF;
    IF wanted.is_view THEN
        RAISE NOTICE '% is a view, whose changes nothing tells', wanted.relation
            USING HINT = format('After changes, or every hour: pgblend table fill %s',
                wanted.relation);
    END IF;
    IF wanted.rights_column IS NULL AND EXISTS (
        SELECT FROM pg_catalog.pg_class AS c WHERE c.oid = wanted.relation AND c.relrowsecurity)
    THEN
        RAISE WARNING 'row security of % does not come along: whoever may read "%" finds all rows',
            wanted.relation, collection_name
            USING HINT = 'Name a column that says what its policies say: rights_column => … '
                '(docs/tables.md, "Who may read a row").';
    END IF;
    PERFORM pgblend._tell_vectors(wanted, filled, coalesce(probe, true));
    RETURN NEXT;
END;
$function$;

-- _attachment_hint: what helps whoever could not attach a table: its columns, or a missing right.
CREATE OR REPLACE FUNCTION pgblend._attachment_hint(relation oid)
RETURNS text
LANGUAGE sql
STABLE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN pgblend._may_become(pgblend._asking_role(), c.relowner) THEN format(
            'Columns of %s: %s.', c.oid::regclass, (
                SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
                FROM pg_catalog.pg_attribute AS a
                WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
        ELSE format('Attach it as a member of its owner: GRANT %I TO %I',
            pg_get_userbyid(c.relowner), pgblend._asking_role()) END
    FROM pg_catalog.pg_class AS c
    WHERE c.oid = _attachment_hint.relation;
END;

-- _attachment_collection: the wanted attachment with its collection, which is made where there is
-- none.
-- An attachment that there was keeps its own. Another's documents in the collection, or another
-- table, are errors: keys of both could be the same.
CREATE OR REPLACE FUNCTION pgblend._attachment_collection(
    wanted pgblend_data.attached_table,
    old pgblend_data.attached_table,
    collection text
)
RETURNS pgblend_data.attached_table
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    collection_name text := coalesce(collection, (
        SELECT c.relname FROM pg_catalog.pg_class AS c WHERE c.oid = wanted.relation));
    target pgblend_data.collection;
BEGIN
    IF old.id IS NOT NULL THEN
        SELECT c.* INTO STRICT target FROM pgblend_data.collection AS c
        WHERE c.id = old.collection_id;
        IF target.name <> coalesce(normalize(collection), target.name) THEN
            RAISE EXCEPTION '% is attached to the collection "%"', wanted.relation, target.name
                USING ERRCODE = '55000', HINT = 'Detach it first: blend.detach_table(…)';
        END IF;
        wanted.collection_id := target.id;
        wanted.made_collection := old.made_collection;
        RETURN wanted;
    END IF;
    SELECT c.* INTO target FROM pgblend_data.collection AS c
    WHERE c.name = normalize(collection_name) AND c.parent_id IS NULL FOR UPDATE;
    wanted.made_collection := NOT FOUND;
    wanted.collection_id := coalesce(target.id, blend.add_collection(collection_name));
    IF NOT wanted.made_collection AND (
        pgblend._has_documents(wanted.collection_id)
        OR EXISTS (
            SELECT FROM pgblend_data.attached_table AS a
            WHERE a.collection_id = wanted.collection_id))
    THEN
        RAISE EXCEPTION 'the collection "%" is not empty: expected one for this table alone', collection_name
            USING ERRCODE = '55000', HINT = 'Name another one: collection => …';
    END IF;
    PERFORM pgblend._prepare_collection(wanted);
    RETURN wanted;
END;
$function$;

-- _has_documents: whether a collection has documents that the caller may read.
CREATE OR REPLACE FUNCTION pgblend._has_documents(collection_id bigint)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    RETURN EXISTS (
        SELECT FROM pgblend_data.document AS d
        WHERE d.collection_id = ANY(pgblend._compartments(_has_documents.collection_id)));
END;
$function$;

-- _prepare_collection: note the language of a collection that is about to follow a table.
-- By hand, since it is there before its first document.
CREATE OR REPLACE FUNCTION pgblend._prepare_collection(wanted pgblend_data.attached_table)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.collection_language (collection_id, text_search_config)
    SELECT c.id, c.text_search_config
    FROM pgblend_data.collection AS c
    WHERE c.id = wanted.collection_id AND NOT EXISTS (
        SELECT FROM pgblend_data.collection_language AS l
        WHERE l.collection_id = c.id AND l.text_search_config = c.text_search_config);
END;
$function$;

-- _attachment_error: why a table cannot be attached in this way, NULL where it can.
-- What the caller may not read is not indexed for others: a table that it cannot read, or only
-- part of which row security shows it.
CREATE OR REPLACE FUNCTION pgblend._attachment_error(wanted pgblend_data.attached_table)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    problem text := pgblend._not_attachable(pgblend._asking_role(), wanted.relation);
    -- NULL where its values name tenants.
    tenant_type text := (
        SELECT format_type(c.atttypid, c.atttypmod)
        FROM pg_attribute AS c
        INNER JOIN pg_type AS t ON t.oid = c.atttypid
        WHERE c.attrelid = wanted.relation AND c.attname = wanted.tenant_column
            AND t.typcategory NOT IN ('N', 'S', 'B', 'D', 'E') AND t.oid <> 'uuid'::regtype);
BEGIN
    IF problem IS NOT NULL THEN
        RETURN problem;
    ELSIF NOT has_table_privilege(wanted.relation, 'SELECT') THEN
        RETURN format('%s may not read %s', current_user, wanted.relation);
    ELSIF row_security_active(wanted.relation) THEN
        RETURN format('row security hides rows of %s from %s', wanted.relation, current_user);
    ELSIF coalesce(cardinality(wanted.text_columns), 0) = 0 THEN
        RETURN 'text_columns is empty: expected the columns that are searched';
    ELSIF wanted.text_format NOT IN ('plain', 'html') OR wanted.text_format IS NULL THEN
        RETURN format('text_format is %s: expected plain or html',
            coalesce(left(wanted.text_format, 200), 'NULL'));
    ELSIF strpos(wanted.tenant_column, '.') > 0 THEN
        RETURN format('tenant_column is %s: expected a name without a dot, which filters can name',
            left(wanted.tenant_column, 200));
    ELSIF wanted.rights_column IS NOT NULL AND wanted.embedding_column IS NOT NULL THEN
        RETURN 'rights_column stands beside embedding_column: expected one of them';
    ELSIF wanted.rights_column IS NOT NULL AND EXISTS (SELECT FROM pgblend_data.shard) THEN
        RETURN 'rights_column is given: expected a database without shards, whose documents have no '
            'readers of their own';
    ELSIF (pgblend._attachment_queries(wanted)).problem IS NOT NULL THEN
        RETURN (pgblend._attachment_queries(wanted)).problem;
    ELSIF tenant_type IS NOT NULL THEN
        RETURN format('tenant_column is %s, of type %s: expected texts, numbers, booleans, dates '
            'or uuids', wanted.tenant_column, tenant_type);
    ELSIF wanted.is_view AND coalesce(cardinality(wanted.key_columns), 0) = 0 THEN
        RETURN format('%s is a view: expected key_columns that tell its rows apart',
            wanted.relation);
    ELSIF coalesce(cardinality(wanted.key_columns), 0) = 0 THEN
        RETURN format('%s has no primary key: expected key_columns with a unique index',
            wanted.relation);
    ELSIF NOT wanted.is_view AND NOT EXISTS (
        SELECT FROM pg_index AS i
        WHERE i.indrelid = wanted.relation AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
            AND i.indexprs IS NULL AND i.indnkeyatts = cardinality(wanted.key_columns)
            AND NOT EXISTS (
                SELECT FROM generate_series(0, i.indnkeyatts - 1) AS p (place)
                INNER JOIN pg_attribute AS c
                    ON c.attrelid = i.indrelid AND c.attnum = i.indkey[p.place]
                WHERE c.attname <> ALL(wanted.key_columns) OR NOT c.attnotnull))
    THEN
        RETURN format('key_columns of %s is (%s): expected columns that are NOT NULL and have a '
            'unique index', wanted.relation, array_to_string(wanted.key_columns, ', '));
    END IF;
    RETURN NULL;
END;
$function$;
