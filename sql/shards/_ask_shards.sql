-- _ask_shards: one trip to some shards, all at once, by PL/Proxy.
-- Each number gets the trip, and the further calls at its place; rows come as they come. An error
-- of one is the whole call's, and leaves connections that the next call makes anew, of which a
-- NOTICE would tell.
CREATE OR REPLACE FUNCTION pgblend._ask_shards(
    shards integer[], calls text[], trip text
)
RETURNS TABLE (shard integer, answer text)
LANGUAGE plproxy
VOLATILE PARALLEL UNSAFE
SET client_min_messages = warning
AS $function$
    CLUSTER 'pgblend_shards';
    SPLIT ALL;
    RUN ON shards;
    TARGET pgblend._answer_shards;
$function$;
