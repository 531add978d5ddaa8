-- _delete_orphans: note all buckets of an attached table in the outbox, where the worker finds
-- documents that have no row; returns 0.
CREATE OR REPLACE FUNCTION pgblend._delete_orphans(
    attached pgblend_data.attached_table,
    most integer
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.shard_outbox (collection_id, bucket)
    SELECT attached.collection_id, b.bucket FROM pgblend_data.shard_bucket AS b;
    RETURN 0;
END;
$function$;
