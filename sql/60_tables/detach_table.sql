-- detach_table: follow a table no more and delete its documents; returns how many.
-- Its triggers go as well, and the collection where attach_table made it. A table that was dropped
-- is named as it was attached. A table that is not attached is an error. For members of
-- pgblend_admin who own the table.
CREATE OR REPLACE FUNCTION blend.detach_table(table_name text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    attached record := pgblend._attachment(table_name);
    gone bigint;
BEGIN
    PERFORM pgblend._drop_attachment(attached.id);
    IF NOT attached.made_collection THEN
        gone := pgblend._delete_documents(attached.collection_id);
    ELSE
        gone := (
            SELECT sum(pgblend._document_count(c.id))
            FROM unnest(pgblend._compartments(attached.collection_id)) AS c (id));
        PERFORM blend.remove_collection(c.name)
        FROM pgblend_data.collection AS c
        WHERE c.id = attached.collection_id;
    END IF;
    RETURN gone;
END;
$function$;

-- _attachment: the attachment of a table, by its name; an error where there is none.
-- A table that was dropped is found by the name that it had.
CREATE OR REPLACE FUNCTION pgblend._attachment(table_name text)
RETURNS pgblend_data.attached_table
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    attached pgblend_data.attached_table;
BEGIN
    SELECT a.* INTO attached
    FROM pgblend_data.attached_table AS a
    WHERE a.relation = pgblend._user_table(_attachment.table_name)
        OR a.table_name = _attachment.table_name
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.oid = a.relation);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the table % is not attached', coalesce(left(table_name, 200), 'NULL')
            USING ERRCODE = '42704', HINT = 'SELECT table_name FROM blend.attached_tables';
    END IF;
    RETURN attached;
END;
$function$;

-- _delete_documents: delete the documents of a collection that followed a table; returns how many.
-- The collection is locked, since rows may still be on their way (_claim_rows).
CREATE OR REPLACE FUNCTION pgblend._delete_documents(collection_id bigint)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    gone bigint;
BEGIN
    PERFORM FROM pgblend_data.collection AS c
    WHERE c.id = _delete_documents.collection_id FOR NO KEY UPDATE;
    DELETE FROM pgblend_data.document AS d
    WHERE d.collection_id = ANY(pgblend._compartments(_delete_documents.collection_id));
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END;
$function$;

-- _drop_attachment: take an attachment off its table, with its triggers and its reader.
-- Runs with its owner's rights, as _keep_attachment: for who may become the table's owner, and for
-- all admins where the table is gone.
CREATE OR REPLACE FUNCTION pgblend._drop_attachment(attachment_id integer)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    attached pgblend_data.attached_table;
BEGIN
    -- First, since a worker that brings its rows reads the table while it holds this row.
    DELETE FROM pgblend_data.attached_table AS a WHERE a.id = attachment_id
    RETURNING a.* INTO attached;
    IF EXISTS (
        SELECT FROM pg_class AS c
        WHERE c.oid = attached.relation
            AND NOT pgblend._may_become(pgblend._asking_role(), c.relowner))
    THEN
        RAISE EXCEPTION '% may not become the owner of %', pgblend._asking_role(), attached.relation
            USING ERRCODE = '42501', HINT = 'Ask a role that may, or a superuser.';
    END IF;
    PERFORM pgblend._drop_table_triggers(attached);
END;
$function$;

-- _drop_table_triggers: drop the triggers of an attachment from its table and partitions, and the
-- function that reads it.
-- So are those of no attachment: a table that was restored has the triggers that it had.
CREATE OR REPLACE FUNCTION pgblend._drop_table_triggers(attached pgblend_data.attached_table)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    old record;
BEGIN
    FOR old IN
        SELECT t.tgname, t.tgrelid::regclass AS relation
        FROM pg_trigger AS t
        WHERE t.tgparentid = 0
            AND t.tgfoid IN (
                'pgblend._row_changed()'::regprocedure,
                'pgblend._table_changed()'::regprocedure,
                'pgblend._table_truncated()'::regprocedure)
            AND (t.tgargs = convert_to(attached.id::text, 'UTF8') || E'\\x00' OR NOT EXISTS (
                SELECT FROM pgblend_data.attached_table AS a
                WHERE t.tgargs = convert_to(a.id::text, 'UTF8') || E'\\x00'))
            AND (t.tgrelid = attached.relation OR t.tgrelid = ANY(attached.partitions) OR EXISTS (
                SELECT FROM pg_partition_ancestors(t.tgrelid) AS p
                WHERE p.relid = attached.relation))
    LOOP
        -- Calls in text: none (triggers of a user's table).
        EXECUTE format('DROP TRIGGER %I ON %s', old.tgname, old.relation);
    END LOOP;
    PERFORM pgblend._drop_reader(attached.id);
END;
$function$;

-- _drop_reader: drop the function that reads an attached table.
-- For superusers alone, since the function is the table's owner's.
CREATE OR REPLACE FUNCTION pgblend._drop_reader(attachment_id integer)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    reader regprocedure := to_regprocedure(format(
        'pgblend_data._read_attached_%s(text, text[], integer)', attachment_id));
BEGIN
    IF reader IS NOT NULL THEN
        -- Calls in text: none (a table's reader).
        EXECUTE format('DROP FUNCTION %s', reader);
    END IF;
END;
$function$;
