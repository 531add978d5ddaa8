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
        (pgblend._followed_attachment(TG_ARGV[0]::integer, TG_RELID)).attached;
BEGIN
    IF attached.id IS NOT NULL THEN
        PERFORM pgblend._apply_changes(attached, pgblend._orphan_keys(attached, NULL));
    END IF;
    RETURN NULL;
END;
$function$;
