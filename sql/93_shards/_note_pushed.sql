-- _note_pushed: note which version of the front a shard of this coordinator was given.
-- Runs with its owner's rights, since nobody else writes what shards there are; only admins may
-- call it.
CREATE OR REPLACE FUNCTION pgblend._note_pushed(number integer, version bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    UPDATE pgblend_data.shard AS s SET pushed_version = version
    WHERE s.number = _note_pushed.number;
END;
$function$;
