-- _collection_add_locks: trigger that adds nothing: each shard has locks of its own for a
-- collection.
CREATE OR REPLACE FUNCTION pgblend._collection_add_locks()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    RETURN NULL;
END;
$function$;
