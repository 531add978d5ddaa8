-- _check_addressed: raise unless this database is the shard of all these numbers.
-- A session of the coordinator may know partitions as they were before a split: 40001, and a new
-- try knows better.
CREATE OR REPLACE FUNCTION pgblend._check_addressed(numbers integer[])
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    IF EXISTS (
        SELECT FROM pgblend_data.shard_self AS s, unnest(numbers) AS n WHERE n <> s.number)
    THEN
        RAISE EXCEPTION 'shards were changed while this call began'
            USING ERRCODE = '40001', HINT = 'Call it again.';
    END IF;
END;
$function$;
