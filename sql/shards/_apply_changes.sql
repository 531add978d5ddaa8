-- _apply_changes: note rows of an attached table in the outbox, for the worker to bring to shards.
-- By their keys, in this transaction; their shards get them as they are when the worker comes. NULL
-- keys are none.
CREATE OR REPLACE FUNCTION pgblend._apply_changes(
    attached pgblend_data.attached_table,
    keys text[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.shard_outbox (collection_id, bucket, source_key)
    SELECT DISTINCT attached.collection_id, pgblend._bucket(attached.collection_id, k.source_key),
        k.source_key
    FROM unnest(keys) AS k (source_key)
    WHERE k.source_key IS NOT NULL;
END;
$function$;
