-- _attachment: the attachment of a table, by its name; an error where there is none.
-- A table that was dropped is found by the name that it had.
CREATE OR REPLACE FUNCTION pgblend._attachment(table_name text)
RETURNS pgblend_data.attached_table
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    attached pgblend_data.attached_table;
BEGIN
    SELECT a.* INTO attached
    FROM pgblend_data.attached_table AS a
    WHERE a.relation = pgblend._user_table(_attachment.table_name)
        OR a.table_name = _attachment.table_name
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.oid = a.relation);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the table % is not attached', coalesce(left(table_name, 200), 'NULL')
            USING ERRCODE = '42704', HINT = 'SELECT table_name FROM blend.attached_tables';
    END IF;
    RETURN attached;
END;
$function$;
