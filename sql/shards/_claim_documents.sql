-- _claim_documents: nothing is claimed here: rows are read by the worker alone, one at a time.
CREATE OR REPLACE FUNCTION pgblend._claim_documents(
    attached pgblend_data.attached_table,
    keys text[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;
