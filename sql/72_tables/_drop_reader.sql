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
