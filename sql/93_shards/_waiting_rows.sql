-- _kept_attachment: a collection's attachment, kept as it is until the transaction ends; NULLs
-- where there is none, or somebody changes it.
-- Runs with its owner's rights: a row's lock is for those who may change it, and nobody else may.
CREATE OR REPLACE FUNCTION pgblend._kept_attachment(target bigint)
RETURNS pgblend_data.attached_table
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    attached pgblend_data.attached_table;
BEGIN
    SELECT a.* INTO attached FROM pgblend_data.attached_table AS a
    WHERE a.collection_id = target FOR KEY SHARE SKIP LOCKED;
    RETURN attached;
END;
$function$;

-- _waiting_rows: what of an attached table waits in this coordinator's outbox for a shard: at most
-- 200 keys, with the rows that are there, or else buckets in which documents may have no row.
-- A single_key is taken alone, NULL means any. Texts are of 32 MB at most, or of one row. ids are
-- the entries that this is all of. foreign_keys has the table and columns that each references,
-- NULL where none leads from or to the table. NULLs where nothing waits, the attachment is being
-- changed, or its columns are gone. It is kept as it is until the end of the transaction. Read in
-- UTC and ISO 8601, as on one node.
CREATE OR REPLACE FUNCTION pgblend._waiting_rows(
    target bigint,
    shard integer,
    single_key text,
    OUT ids bigint[],
    OUT keys text[],
    OUT rows jsonb,
    OUT foreign_keys jsonb,
    OUT buckets smallint[]
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
SET intervalstyle = 'iso_8601'
SET bytea_output = 'hex'
SET extra_float_digits = 1
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $function$
DECLARE
    most_keys CONSTANT integer := 200;
    most_buckets CONSTANT integer := 512;
    most_bytes CONSTANT integer := 32 * 1024 * 1024;
    own smallint[] := ARRAY(
        SELECT b.bucket FROM pgblend_data.shard_bucket AS b WHERE b.shard = _waiting_rows.shard);
    attached pgblend_data.attached_table := pgblend._kept_attachment(target);
    put_off text[];
BEGIN
    IF attached.id IS NULL OR (pgblend._attachment_queries(attached)).problem IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT array_agg(DISTINCT w.source_key) INTO keys
    FROM (
        SELECT o.source_key FROM pgblend_data.shard_outbox AS o
        WHERE o.collection_id = target AND o.bucket = ANY(own) AND o.source_key IS NOT NULL
            AND o.source_key = coalesce(single_key, o.source_key)
        LIMIT most_keys
    ) AS w;
    IF keys IS NULL THEN
        SELECT array_agg(w.id), array_agg(DISTINCT w.bucket) INTO ids, buckets
        FROM (
            SELECT o.id, o.bucket FROM pgblend_data.shard_outbox AS o
            WHERE o.collection_id = target AND o.bucket = ANY(own) AND o.source_key IS NULL
            LIMIT most_buckets
        ) AS w;
        RETURN;
    END IF;
    SELECT coalesce(jsonb_object_agg(
        f.constraint_name, to_jsonb(ARRAY[f.target::oid::text] || f.target_columns)), '{}')
    INTO foreign_keys
    FROM pgblend._foreign_keys(attached.relation) AS f
    HAVING count(*) > 0 OR EXISTS (
        SELECT FROM pg_catalog.pg_constraint AS n
        WHERE n.contype = 'f' AND n.confrelid = attached.relation);
    -- Before the rows are read: what is noted later is read again.
    SELECT array_agg(o.id) INTO ids
    FROM pgblend_data.shard_outbox AS o
    WHERE o.collection_id = target AND o.bucket = ANY(own) AND o.source_key = ANY(keys);
    SELECT coalesce(jsonb_agg(to_jsonb(r.*)) FILTER (WHERE r.is_taken), '[]'),
        coalesce(array_agg(r.key) FILTER (WHERE NOT r.is_taken), '{}')
    INTO rows, put_off
    FROM (
        SELECT a.*, sum(octet_length(a.content)) OVER w <= most_bytes OR row_number() OVER w = 1
            AS is_taken
        FROM pgblend._attached_rows(attached, 'rows', keys, NULL) AS a
        WINDOW w AS (ORDER BY a.key COLLATE "C" ROWS UNBOUNDED PRECEDING)
    ) AS r;
    IF put_off <> '{}' THEN
        keys := ARRAY(SELECT unnest(keys) EXCEPT SELECT unnest(put_off));
        ids := ARRAY(
            SELECT o.id FROM pgblend_data.shard_outbox AS o
            WHERE o.id = ANY(ids) AND o.source_key = ANY(keys));
    END IF;
END;
$function$;
