-- probe_attached_table: an error: a coordinator takes no vectors of tables over, so that a model
-- makes those of all rows.
CREATE OR REPLACE FUNCTION blend.probe_attached_table(table_name text)
RETURNS TABLE (
    model text,
    compared integer,
    nearest integer,
    likeness double precision,
    same_model boolean
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
COST 100000
AS $function$
BEGIN
    RAISE EXCEPTION 'the rows of % have no vectors', table_name
        USING ERRCODE = '22023', HINT = 'A coordinator of shards takes none over.';
END;
$function$;
