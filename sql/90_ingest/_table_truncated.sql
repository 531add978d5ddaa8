-- _table_truncated: trigger on attached tables and their partitions that deletes the documents of
-- rows that a TRUNCATE took.
-- Runs with its owner's rights, as _table_changed does.
CREATE OR REPLACE FUNCTION pgblend._table_truncated()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    attached pgblend_data.attached_table :=
        pgblend._triggered_attachment(TG_ARGV[0]::integer, TG_RELID);
    how record;
BEGIN
    IF attached.id IS NULL THEN
        RETURN NULL;
    END IF;
    how := pgblend._attachment_queries(attached);
    IF how.problem IS NOT NULL THEN
        PERFORM pgblend._note_attachment_problem(attached.id, how.problem);
    ELSE
        PERFORM pgblend._follow_changes(
            attached, pgblend._orphan_keys(attached, NULL));
    END IF;
    RETURN NULL;
END;
$function$;
