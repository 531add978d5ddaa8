-- _apply_changes: bring the documents of an attached table's rows up to date, by their keys.
-- Rows that are there are stored (split only where the text changed), documents of rows that are
-- gone deleted; returns how many documents changed. Keys are taken in their order, so that sessions
-- wait for each other and never in a circle. Read in UTC and ISO 8601, whoever writes. All is of
-- this transaction: the text is findable at once, vectors follow.
CREATE OR REPLACE FUNCTION pgblend._apply_changes(
    attached pgblend_data.attached_table,
    keys text[]
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
SET intervalstyle = 'iso_8601'
SET bytea_output = 'hex'
SET extra_float_digits = 1
AS $function$
DECLARE
    batch_size CONSTANT integer := 200;
    changed bigint := 0;
BEGIN
    SELECT array_agg(DISTINCT k.source_key COLLATE "C" ORDER BY k.source_key COLLATE "C") INTO keys
    FROM unnest(keys) AS k (source_key);
    FOR start IN 1..coalesce(cardinality(keys), 0) BY batch_size LOOP
        changed := changed
            + pgblend._apply_batch(attached, keys[start:start + batch_size - 1]);
    END LOOP;
    RETURN changed;
END;
$function$;
