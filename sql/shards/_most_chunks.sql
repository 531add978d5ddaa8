-- _most_chunks: how many chunks the database has that has the most of them: the largest shard.
CREATE OR REPLACE FUNCTION pgblend._most_chunks()
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN (
        SELECT max((a.answer #>> '{}')::bigint)
        FROM pgblend._on_shards('pgblend._most_chunks', '{}') AS a (answer));
END;
$function$;
