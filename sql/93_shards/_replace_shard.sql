-- _replace_shard: let new shards have the buckets of one that was copied to them.
-- buckets has those of the former shard, owners the number of the new shard of each. The former
-- one's partition stays, for searches that have begun. Another version of the front than the new
-- shards were given is an error. Only a superuser may call it.
CREATE OR REPLACE FUNCTION pgblend._replace_shard(
    former integer,
    given_version bigint,
    numbers integer[],
    names text[],
    connections text[],
    directs text[],
    buckets smallint[],
    owners integer[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    version bigint := (SELECT f.version FROM pgblend_data.shard_front AS f FOR UPDATE);
    known jsonb := (
        SELECT jsonb_object_agg(o.option_name, o.option_value)
        FROM pg_foreign_server AS s
        CROSS JOIN LATERAL pg_options_to_table(s.srvoptions) AS o
        WHERE s.srvname = 'pgblend_shards');
    partitions integer := 1;
BEGIN
    IF version <> given_version THEN
        RAISE EXCEPTION 'collections, grants or settings were changed meanwhile'
            USING ERRCODE = '40001', HINT = 'Run it again.';
    END IF;
    WHILE partitions <= (SELECT max(n) FROM unnest(numbers) AS n) LOOP
        partitions := partitions * 2;
    END LOOP;
    -- Calls in text: none (connection strings).
    EXECUTE (
        SELECT format('ALTER SERVER pgblend_shards OPTIONS (%s)', string_agg(format(
            '%s p%s %L', CASE WHEN known ? ('p' || p) THEN 'SET' ELSE 'ADD' END, p,
            pgblend._shielded(coalesce(
                connections[array_position(numbers, p)],
                CASE WHEN p < (SELECT min(n) FROM unnest(numbers) AS n) THEN known ->> ('p' || p) END,
                connections[cardinality(connections)]))), ', ' ORDER BY p))
        FROM generate_series(0, partitions - 1) AS p);
    INSERT INTO pgblend_data.shard (number, name, pushed_version, direct)
    SELECT n.number, n.name, version, n.direct
    FROM unnest(numbers, names, directs) AS n (number, name, direct);
    UPDATE pgblend_data.shard_bucket AS b SET shard = o.owner
    FROM unnest(buckets, owners) AS o (bucket, owner)
    WHERE b.bucket = o.bucket AND b.shard = former;
    DELETE FROM pgblend_data.shard AS s WHERE s.number = former;
END;
$function$;
