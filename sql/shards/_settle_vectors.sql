-- _settle_vectors: nothing changes here: rows of a coordinator's tables bring no vectors.
CREATE OR REPLACE FUNCTION pgblend._settle_vectors(
    attached pgblend_data.attached_table,
    old pgblend_data.attached_table
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;
