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
            AND (t.tgargs = convert_to(attached.id::text, 'UTF8') || '\x00' OR NOT EXISTS (
                SELECT FROM pgblend_data.attached_table AS a
                WHERE t.tgargs = convert_to(a.id::text, 'UTF8') || '\x00'))
            AND (t.tgrelid = attached.relation OR EXISTS (
                SELECT FROM pg_partition_ancestors(t.tgrelid) AS p
                WHERE p.relid = attached.relation))
    LOOP
        -- Calls in text: none (triggers of a user's table).
        EXECUTE format('DROP TRIGGER %I ON %s', old.tgname, old.relation);
    END LOOP;
    PERFORM pgblend._drop_reader(attached.id);
END;
$function$;
