-- _create_table_triggers: put the triggers of an attachment on its table.
-- One for each kind of statement, with transition tables; or one for rows, where partitions or an
-- apply worker would not fire those, enabled always. TRUNCATE has one on each partition.
CREATE OR REPLACE FUNCTION pgblend._create_table_triggers(attached pgblend_data.attached_table)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    part regclass;
    event text;
    tables text;
BEGIN
    IF attached.row_level THEN
        EXECUTE format('CREATE TRIGGER pgblend_rows AFTER INSERT OR UPDATE OR DELETE ON %s
            FOR EACH ROW EXECUTE FUNCTION pgblend._table_changed(%L)',
            attached.relation, attached.id);
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER pgblend_rows', attached.relation);
    ELSE
        FOR event, tables IN VALUES
            ('insert', 'NEW TABLE AS new_rows'),
            ('update', 'OLD TABLE AS old_rows NEW TABLE AS new_rows'),
            ('delete', 'OLD TABLE AS old_rows')
        LOOP
            EXECUTE format('CREATE TRIGGER pgblend_%1$s AFTER %1$s ON %2$s REFERENCING %3$s
                FOR EACH STATEMENT EXECUTE FUNCTION pgblend._table_changed(%4$L)',
                event, attached.relation, tables, attached.id);
        END LOOP;
    END IF;
    FOR part IN SELECT p.relid FROM pg_partition_tree(attached.relation) AS p
        UNION SELECT attached.relation LOOP
        EXECUTE format('CREATE TRIGGER pgblend_truncate AFTER TRUNCATE ON %s
            FOR EACH STATEMENT EXECUTE FUNCTION pgblend._table_truncated(%L)', part, attached.id);
        IF attached.row_level THEN
            EXECUTE format('ALTER TABLE ONLY %s ENABLE ALWAYS TRIGGER pgblend_truncate', part);
        END IF;
    END LOOP;
END;
$function$;
