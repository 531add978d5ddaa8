-- _tell_shards: one call of a routine on each of some shards, all at once, by PL/Proxy.
-- Each number gets the request at its place, and commits for itself; rows come as they come.
CREATE OR REPLACE FUNCTION pgblend._tell_shards(shards integer[], requests text[])
RETURNS TABLE (shard integer, answer text)
LANGUAGE plproxy
VOLATILE PARALLEL UNSAFE
AS $function$
    CLUSTER 'pgblend_shards';
    SPLIT ALL;
    RUN ON shards;
    TARGET pgblend._carry_out;
$function$;
