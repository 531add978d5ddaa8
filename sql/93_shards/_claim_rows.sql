-- _claim_rows: let this transaction alone bring rows of an attached table to this shard.
-- number, and version, are those that the coordinator knows the shard and its own front by. The
-- collection is locked until the end of the transaction: whoever was killed in the middle is waited
-- for, so that rows that are read after it are never stored under older ones.
CREATE OR REPLACE FUNCTION pgblend._claim_rows(
    number integer,
    version bigint,
    collection_id bigint
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM pgblend._check_addressed(ARRAY[number]);
    PERFORM pgblend._check_front(version);
    PERFORM FROM pgblend_data.collection AS c
    WHERE c.id = _claim_rows.collection_id FOR NO KEY UPDATE;
END;
$function$;
