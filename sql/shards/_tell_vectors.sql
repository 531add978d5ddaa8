-- _tell_vectors: nothing is told here: rows of a coordinator's tables bring no vectors.
CREATE OR REPLACE FUNCTION pgblend._tell_vectors(
    attached pgblend_data.attached_table,
    filled boolean,
    probe boolean
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;
