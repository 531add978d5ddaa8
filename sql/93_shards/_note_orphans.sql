-- _note_orphans: note in this coordinator's outbox which of a shard's keys have no row in their
-- attached table.
CREATE OR REPLACE FUNCTION pgblend._note_orphans(target bigint, keys text[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET timezone = 'UTC'
AS $function$
DECLARE
    attached pgblend_data.attached_table;
BEGIN
    SELECT a.* INTO STRICT attached FROM pgblend_data.attached_table AS a
    WHERE a.collection_id = target;
    INSERT INTO pgblend_data.shard_outbox (collection_id, bucket, source_key)
    SELECT target, pgblend._bucket(target, k.source_key), k.source_key
    FROM unnest(keys) AS k (source_key)
    LEFT JOIN pgblend._attached_rows(attached, 'keys', NULL, NULL) AS r ON k.source_key = r.key
    WHERE r.key IS NULL;
END;
$function$;
