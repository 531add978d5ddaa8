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
    PERFORM pgblend._drop_table_triggers(attached);
    DELETE FROM pgblend_data.attached_table AS a WHERE a.id = attached.id;
    DELETE FROM pgblend_data.document AS d WHERE d.collection_id = attached.collection_id;
    GET DIAGNOSTICS gone = ROW_COUNT;
    IF attached.made_collection THEN
        PERFORM blend.remove_collection(c.name)
        FROM pgblend_data.collection AS c
        WHERE c.id = attached.collection_id;
    END IF;
    RETURN gone;
END;
$function$;
