-- _read_as_owner: rows of an attached table, read with the rights of its owner.
-- what is rows (those of keys, in their order), next (keys and parts of the first most rows after
-- the key whose parts are in keys, or after none) or keys (those of all rows). For those who may
-- make functions of others alone: triggers on the table, superusers, and _read_attached.
CREATE OR REPLACE FUNCTION pgblend._read_as_owner(
    attached pgblend_data.attached_table,
    what text,
    keys text[],
    most integer
)
RETURNS SETOF pgblend_data.attached_row
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    how record;
BEGIN
    IF what = 'next' THEN
        attached.filled_to := keys;
    END IF;
    how := pgblend._attachment_queries(attached);
    IF how.problem IS NOT NULL THEN
        RAISE EXCEPTION '%', how.problem
            USING ERRCODE = '42703',
            HINT = 'Name the columns anew: blend.attach_table(…), as for a new table.';
    END IF;
    RETURN QUERY SELECT r.* FROM pgblend._call_reader(
        pgblend._ensure_reader(attached),
        CASE what
            WHEN 'rows' THEN how.rows_query
            WHEN 'keys' THEN how.keys_query
            ELSE how.next_query END,
        keys, most) AS r;
END;
$function$;
