-- _queue_all: nothing is queued here: each shard does when it gets the space (_apply_front).
CREATE OR REPLACE FUNCTION pgblend._queue_all(space text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;
