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
    -- First, since a coordinator's worker reads the table while it holds this row.
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
    attached pgblend_data.attached_table := pgblend._attachment(table_name);
    gone bigint;
BEGIN
    PERFORM pgblend._drop_attachment(attached.id);
    IF NOT attached.made_collection THEN
        gone := pgblend._delete_documents(attached.collection_id);
    ELSE
        gone := pgblend._document_count(attached.collection_id);
        PERFORM blend.remove_collection(c.name)
        FROM pgblend_data.collection AS c
        WHERE c.id = attached.collection_id;
    END IF;
    RETURN gone;
END;
$function$;
