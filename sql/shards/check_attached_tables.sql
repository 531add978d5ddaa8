-- check_attached_tables: no rows: a coordinator has no attached tables.
CREATE OR REPLACE FUNCTION blend.check_attached_tables()
RETURNS TABLE (table_name text, problem text, mend text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
AS $function$
BEGIN
    RETURN;
END;
$function$;
