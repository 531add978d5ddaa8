-- _needs_row_triggers: whether statement triggers would miss changes of a table.
-- They do in the apply worker of a subscription (to the table, or to a partition of it), and for a
-- partition, which is written to by way of its parents. Foreign tables give no transition rows.
CREATE OR REPLACE FUNCTION pgblend._needs_row_triggers(relation regclass)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT bool_or(
        c.relkind = 'f' OR s.srrelid IS NOT NULL
        OR c.oid = _needs_row_triggers.relation AND c.relispartition)
    FROM unnest(
        _needs_row_triggers.relation || pgblend._partitions(_needs_row_triggers.relation)
    ) AS p (relid)
    INNER JOIN pg_catalog.pg_class AS c ON p.relid = c.oid
    LEFT JOIN pg_catalog.pg_subscription_rel AS s ON c.oid = s.srrelid;
END;

-- _follow_relations: put triggers on an attached table, and on each partition that has none.
-- A trigger for each kind of statement, with transition tables, sees the rows of statements on its
-- own relation: those on a partitioned table, whichever partition they go to, and those on a
-- partition itself. Rows of an apply worker are seen by a trigger for rows alone, which needs the
-- place of statement triggers then (row_level). A partitioned table has it as well: partitions
-- that come have a copy at once, which goes to sleep here, when their statements are followed.
-- No UPDATE OF: a list of columns is refused beside transition tables, and would miss what a
-- trigger before the row changes.
CREATE OR REPLACE FUNCTION pgblend._follow_relations(attached pgblend_data.attached_table)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    part record;
    event text;
    tables text;
BEGIN
    FOR part IN
        SELECT p.relid::regclass AS relid, c.relkind = 'p' AS is_parted,
            NOT attached.row_level AND p.relid <> attached.relation AS has_copy
        FROM unnest(attached.relation || pgblend._partitions(attached.relation)) AS p (relid)
        INNER JOIN pg_class AS c ON c.oid = p.relid AND c.relkind IN ('r', 'p')
        WHERE NOT EXISTS (
            SELECT FROM pgblend._own_triggers(attached.id) AS t
            WHERE t.relation = p.relid AND t.name = 'pgblend_truncate')
        ORDER BY p.relid <> attached.relation
    LOOP
        IF part.relid = attached.relation AND (attached.row_level OR part.is_parted) THEN
            -- Calls in text: _row_changed, _table_changed, _table_truncated (triggers).
            EXECUTE format('CREATE TRIGGER pgblend_rows AFTER INSERT OR UPDATE OR DELETE ON %1$s
                FOR EACH ROW EXECUTE FUNCTION pgblend._row_changed(%2$L);
                ALTER TABLE %1$s ENABLE ALWAYS TRIGGER pgblend_rows', part.relid, attached.id);
        END IF;
        FOR event, tables IN
            VALUES
                ('insert', 'REFERENCING NEW TABLE AS new_rows'),
                ('update', 'REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows'),
                ('delete', 'REFERENCING OLD TABLE AS old_rows'),
                ('truncate', '')
        LOOP
            CONTINUE WHEN attached.row_level AND event <> 'truncate';
            EXECUTE format('CREATE OR REPLACE TRIGGER pgblend_%1$s AFTER %1$s ON %2$s %3$s
                FOR EACH STATEMENT EXECUTE FUNCTION pgblend.%4$I(%5$L)',
                event, part.relid, tables,
                CASE event WHEN 'truncate' THEN '_table_truncated' ELSE '_table_changed' END,
                attached.id);
            IF attached.row_level OR part.is_parted OR part.has_copy THEN
                EXECUTE format('ALTER TABLE ONLY %s ENABLE ALWAYS TRIGGER %I',
                    part.relid, 'pgblend_' || event);
            END IF;
        END LOOP;
        -- Not of a partition that has partitions: those that come to it copy its own.
        IF part.has_copy AND NOT part.is_parted THEN
            EXECUTE format('ALTER TABLE ONLY %s DISABLE TRIGGER pgblend_rows', part.relid);
        END IF;
    END LOOP;
END;
$function$;

-- _own_triggers: the triggers of an attachment, but for copies that partitions have of their
-- parent's.
CREATE OR REPLACE FUNCTION pgblend._own_triggers(attachment_id integer)
RETURNS TABLE (relation regclass, name name)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 5
AS $function$
BEGIN
    RETURN QUERY
    SELECT t.tgrelid::regclass, t.tgname
    FROM pg_catalog.pg_trigger AS t
    WHERE t.tgparentid = 0
        AND t.tgfoid IN (
            'pgblend._row_changed()'::regprocedure,
            'pgblend._table_changed()'::regprocedure,
            'pgblend._table_truncated()'::regprocedure)
        AND t.tgargs = convert_to(attachment_id::text, 'UTF8') || E'\\x00';
END;
$function$;

-- _table_truncated: trigger on attached tables and their partitions that deletes the documents of
-- rows that a TRUNCATE took.
-- Runs with its owner's rights, as _table_changed does.
CREATE OR REPLACE FUNCTION pgblend._table_truncated()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    attached pgblend_data.attached_table :=
        (pgblend._followed_attachment(TG_ARGV[0]::integer, TG_RELID)).attached;
BEGIN
    IF attached.id IS NOT NULL THEN
        PERFORM pgblend._delete_orphans(attached, NULL);
    END IF;
    RETURN NULL;
END;
$function$;

-- _table_changed: trigger on attached tables that brings the documents of changed rows up to date,
-- after a statement.
-- It reads the tables new_rows and old_rows: a trigger whose transition tables these are not is an
-- error, since others could have such names. An update that changes nothing of what the index takes
-- is passed over. Runs with its owner's rights, so that who may write the table need have none
-- here; nobody makes such triggers but _follow_relations. Of rows it evaluates nothing but the
-- output functions of their keys' types, and compares bytes. The table is read with the rights of
-- its own owner. Where a column is gone, a WARNING names it, the attachment remembers, and the
-- write goes on.
CREATE OR REPLACE FUNCTION pgblend._table_changed()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    served record;
    query text;
    keys text[];
BEGIN
    IF TG_LEVEL <> 'STATEMENT' OR NOT EXISTS (
        SELECT FROM pg_trigger AS t
        WHERE t.tgrelid = TG_RELID AND t.tgname = TG_NAME
            AND (TG_OP = 'DELETE' OR t.tgnewtable = 'new_rows')
            AND (TG_OP = 'INSERT' OR t.tgoldtable = 'old_rows'))
    THEN
        RAISE EXCEPTION 'the trigger % of % has no transition tables new_rows and old_rows',
            TG_NAME, TG_RELID::regclass
            USING ERRCODE = '39P01', HINT = 'blend.attach_table(…) makes the triggers of a table.';
    END IF;
    served := pgblend._followed_attachment(TG_ARGV[0]::integer, TG_RELID);
    IF (served.attached).id IS NULL THEN
        RETURN NULL;
    ELSIF TG_OP = 'UPDATE' THEN
        query := format(
            'SELECT array_agg(key) FROM (SELECT %1$s AS key, %2$s AS relevant FROM old_rows AS t) AS o
            FULL JOIN (SELECT %1$s AS key, %2$s AS relevant FROM new_rows AS t) AS n USING (key)
            WHERE (o.relevant *= n.relevant) IS NOT TRUE', served.key_of, served.relevant);
    ELSE
        query := format('SELECT array_agg(%s) FROM %s AS t', served.key_of,
            CASE TG_OP WHEN 'INSERT' THEN 'new_rows' ELSE 'old_rows' END);
    END IF;
    -- Calls in text: none (columns of a user's table).
    EXECUTE query INTO keys;
    IF keys IS NOT NULL THEN
        PERFORM pgblend._apply_changes(served.attached, keys);
    END IF;
    RETURN NULL;
END;
$function$;

-- _row_changed: trigger on attached tables that brings the documents of a changed row up to date.
-- As _table_changed, for tables whose statements do not tell (_needs_row_triggers), and for
-- partitions that came since (_follow_relations). It reads no relation by a name, so owners of
-- partitioned tables may have it on partitions that they make.
CREATE OR REPLACE FUNCTION pgblend._row_changed()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    served record;
    query text;
    keys text[];
BEGIN
    IF TG_LEVEL <> 'ROW' THEN
        RAISE EXCEPTION 'the trigger % of % fires for no row', TG_NAME, TG_RELID::regclass
            USING ERRCODE = '39P01', HINT = 'blend.attach_table(…) makes the triggers of a table.';
    END IF;
    served := pgblend._followed_attachment(TG_ARGV[0]::integer, TG_RELID);
    IF (served.attached).id IS NULL THEN
        RETURN NULL;
    ELSIF TG_OP = 'UPDATE' THEN
        query := format(
            'SELECT array_agg(key) FROM (
                SELECT %1$s AS key, %2$s AS relevant FROM (SELECT ($1).*) AS t) AS o
            FULL JOIN (
                SELECT %1$s AS key, %2$s AS relevant FROM (SELECT ($2).*) AS t) AS n USING (key)
            WHERE (o.relevant *= n.relevant) IS NOT TRUE', served.key_of, served.relevant);
    ELSE
        query := format('SELECT ARRAY[%s] FROM (SELECT ($%s).*) AS t', served.key_of,
            CASE TG_OP WHEN 'INSERT' THEN 2 ELSE 1 END);
    END IF;
    -- Calls in text: none (columns of a user's table).
    EXECUTE query INTO keys USING OLD, NEW;
    IF keys IS NOT NULL THEN
        PERFORM pgblend._apply_changes(served.attached, keys);
    END IF;
    RETURN NULL;
END;
$function$;

-- _followed_attachment: the attachment that a trigger on a table (or a partition) serves, with SQL
-- over its rows (_attachment_queries), as it was kept where the table's shape is the same.
-- NULLs where there is none, as after a restore of a table that was dropped, and where its changes
-- cannot be followed: a WARNING says why, and the attachment remembers it.
CREATE OR REPLACE FUNCTION pgblend._followed_attachment(
    attachment_id integer,
    relation oid,
    OUT attached pgblend_data.attached_table,
    OUT key_of text,
    OUT relevant text
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    why text;
BEGIN
    SELECT a.* INTO attached FROM pgblend_data.attached_table AS a
    WHERE a.id = attachment_id;
    IF NOT FOUND OR attached.relation <> _followed_attachment.relation AND NOT EXISTS (
        SELECT FROM pg_partition_ancestors(_followed_attachment.relation) AS p
        WHERE p.relid = attached.relation)
    THEN
        IF _followed_attachment.relation = ANY(attached.partitions) THEN
            attached := NULL;  -- it was a partition: its rows are none of the table any more
            RETURN;
        END IF;
        RAISE WARNING 'pgblend does not follow this change: % is another table than the one that '
            'was attached', _followed_attachment.relation::regclass
            USING HINT = 'Dropped and restored? Attach it again, its vectors stay: pgblend doctor';
        attached := NULL;
        RETURN;
    ELSIF pgblend._table_shape(attached.relation) = attached.shape THEN
        key_of := attached.key_of;
        relevant := attached.relevant;
        RETURN;
    END IF;
    SELECT h.problem, h.key_of, h.relevant INTO why, key_of, relevant
    FROM pgblend._attachment_queries(attached) AS h;
    IF why IS NOT NULL THEN
        UPDATE pgblend_data.attached_table AS a
        SET problem = why, filled = false, filled_to = NULL
        WHERE a.id = attachment_id AND a.problem IS DISTINCT FROM why;
        RAISE WARNING 'pgblend does not follow this change: %', why
            USING HINT = 'Name the columns anew: blend.attach_table(…), as for a new table.';
        attached := NULL;
    END IF;
END;
$function$;

-- _table_shape: what the SQL that is kept of an attached table follows from: names and types of the
-- table's columns, its foreign keys, its owner; NULL where it is gone.
CREATE OR REPLACE FUNCTION pgblend._table_shape(relation oid)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    RETURN (
        SELECT md5(concat_ws(' ', c.relkind, c.relowner, (
                SELECT string_agg(concat(a.attnum, ' ', a.atttypid::bigint, ' ', a.attname), E'\n'
                    ORDER BY a.attnum)
                FROM pg_catalog.pg_attribute AS a
                WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            ), (
                SELECT string_agg(concat(n.oid, ' ', n.conname), E'\n' ORDER BY n.oid)
                FROM pg_catalog.pg_constraint AS n WHERE n.conrelid = c.oid AND n.contype = 'f')))
        FROM pg_catalog.pg_class AS c WHERE c.oid = _table_shape.relation);
END;
$function$;
