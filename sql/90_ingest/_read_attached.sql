-- _read_attached: _read_as_owner for admins that may read the table themselves.
-- Runs with its owner's rights, to make the function of the table's owner. Who asks is the role in
-- force at the outermost call; table and columns are those of the registry, not the caller's.
CREATE OR REPLACE FUNCTION pgblend._read_attached(
    attachment_id integer,
    what text,
    keys text[],
    most integer
)
RETURNS SETOF pgblend_data.attached_row
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    attached pgblend_data.attached_table;
    who name := pgblend._asking_role();
BEGIN
    SELECT a.* INTO attached FROM pgblend_data.attached_table AS a WHERE a.id = attachment_id;
    IF NOT has_table_privilege(who, attached.relation, 'SELECT') THEN
        RAISE EXCEPTION '% may not read %', who, attached.relation
            USING ERRCODE = '42501',
            HINT = format('GRANT SELECT ON %s TO %I', attached.relation, who);
    END IF;
    RETURN QUERY SELECT r.* FROM pgblend._read_as_owner(attached, what, keys, most) AS r;
END;
$function$;
