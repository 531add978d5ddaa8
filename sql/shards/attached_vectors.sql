-- attached_vectors: no rows: a coordinator takes no vectors of tables over.
CREATE OR REPLACE FUNCTION blend.attached_vectors()
RETURNS TABLE (
    table_name text,
    space text,
    rows bigint,
    vectors bigint,
    without_vector bigint,
    long_rows bigint,
    examples text
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
AS $function$
BEGIN
    RETURN;
END;
$function$;
