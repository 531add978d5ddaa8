-- _check_front: raise where this shard has an older version of the coordinator's front than that.
CREATE OR REPLACE FUNCTION pgblend._check_front(version bigint)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    known pgblend_data.shard_self;
BEGIN
    SELECT s.* INTO known FROM pgblend_data.shard_self AS s;
    IF coalesce(known.front_version < version, true) THEN
        RAISE EXCEPTION 'shard % lacks the last changes of settings, grants or collections',
            coalesce(known.number::text, 'this database')
            USING ERRCODE = '55000',
            HINT = 'An admin of the coordinator runs: pgblend shards push';
    END IF;
END;
$function$;
