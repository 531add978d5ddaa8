-- _prepare_collection: nothing is noted here: each shard knows the languages of its documents.
CREATE OR REPLACE FUNCTION pgblend._prepare_collection(wanted pgblend_data.attached_table)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;
