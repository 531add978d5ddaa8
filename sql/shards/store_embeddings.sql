-- store_embeddings: an error: vectors are stored on the shard that has their passages.
CREATE OR REPLACE FUNCTION blend.store_embeddings(
    space text,
    chunk_ids bigint[],
    vectors vector[]
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RAISE EXCEPTION 'a coordinator of shards has no passages: expected a call on their shard'
        USING ERRCODE = 'feature_not_supported',
        HINT = 'Connect to each shard, and store the vectors of the passages that it has there.';
END;
$function$;
