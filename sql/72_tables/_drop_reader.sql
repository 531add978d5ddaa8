-- _drop_reader: drop the function that reads an attached table.
-- Runs with its owner's rights, since the function is the table's owner's. A function that is
-- dropped too early is made again.
CREATE OR REPLACE FUNCTION pgblend._drop_reader(attachment_id integer)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
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
