-- _attached_rows: rows of an attached table, by _read_as_owner for those who may call it and by
-- _read_attached for others.
CREATE OR REPLACE FUNCTION pgblend._attached_rows(
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
BEGIN
    IF has_function_privilege(
        'pgblend._read_as_owner(pgblend_data.attached_table, text, text[], integer)', 'EXECUTE')
    THEN
        RETURN QUERY SELECT r.* FROM pgblend._read_as_owner(attached, what, keys, most) AS r;
    ELSE
        RETURN QUERY SELECT r.* FROM pgblend._read_attached(attached.id, what, keys, most) AS r;
    END IF;
END;
$function$;
