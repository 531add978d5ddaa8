-- _follow_settings: nothing is done here: each shard applies changed settings to what it has.
CREATE OR REPLACE FUNCTION pgblend._follow_settings(
    collection_id bigint,
    old_settings jsonb,
    new_settings jsonb
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;
