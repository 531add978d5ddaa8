-- _empty_collection: nothing is deleted here: each shard does when it learns that the collection is
-- gone (_apply_front).
CREATE OR REPLACE FUNCTION pgblend._empty_collection(target bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;
