-- _create_truncate_triggers: put the triggers of TRUNCATE on an attached table, and on each
-- partition that has none.
CREATE OR REPLACE FUNCTION pgblend._create_truncate_triggers(attached pgblend_data.attached_table)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    part regclass;
BEGIN
    FOR part IN
        SELECT p.relid
        FROM unnest(attached.relation || pgblend._partitions(attached.relation)) AS p (relid)
        INNER JOIN pg_class AS c ON c.oid = p.relid AND c.relkind IN ('r', 'p')
        WHERE NOT EXISTS (
            SELECT FROM pg_trigger AS t
            WHERE t.tgrelid = p.relid AND t.tgname = 'pgblend_truncate'
                AND t.tgfoid = 'pgblend._table_truncated()'::regprocedure
                AND t.tgargs = convert_to(attached.id::text, 'UTF8') || '\x00')
    LOOP
        -- Calls in text: _table_truncated (triggers of a user's table).
        EXECUTE format('CREATE OR REPLACE TRIGGER pgblend_truncate AFTER TRUNCATE ON %s
            FOR EACH STATEMENT EXECUTE FUNCTION pgblend._table_truncated(%L)', part, attached.id);
        IF attached.row_level THEN
            EXECUTE format('ALTER TABLE ONLY %s ENABLE ALWAYS TRIGGER pgblend_truncate', part);
        END IF;
    END LOOP;
END;
$function$;
