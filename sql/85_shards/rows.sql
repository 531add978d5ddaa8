-- _apply_rows: bring documents of this shard up to date with rows of an attached table.
-- keys are all that are looked at, rows those of them that are there (pgblend_data.attached_row). A
-- second time nothing changes. _claim_rows was called before the rows were read. foreign_keys has
-- the table and columns that each references, NULL where none leads from or to the table. What
-- rows reference is kept, edges to what they reference no more go at once, and keys are noted for
-- the coordinator, which makes edges (_settle_graph).
CREATE OR REPLACE FUNCTION pgblend._apply_rows(
    collection_id bigint,
    keys text[],
    rows jsonb,
    foreign_keys jsonb
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection;
    given pgblend_data.attached_row[] := ARRAY(
        SELECT r FROM jsonb_populate_recordset(NULL::pgblend_data.attached_row, rows) AS r);
    old_ids bigint[];
BEGIN
    SELECT c.* INTO STRICT target FROM pgblend_data.collection AS c
    WHERE c.id = _apply_rows.collection_id;
    old_ids := ARRAY(
        SELECT d.id FROM pgblend_data.document AS d
        WHERE d.collection_id = target.id AND d.source_key = ANY(keys));
    PERFORM pgblend._store_rows(target, keys, given);
    WITH source AS MATERIALIZED (
        SELECT d.id, d.collection_id, d.bucket, d.source_key,
            coalesce(r.targets, '{}') AS targets
        FROM unnest(given) AS r
        INNER JOIN pgblend_data.document AS d
            ON d.collection_id = target.id AND d.source_key = r.key
    ), stored AS (
        INSERT INTO pgblend_data.key_reference AS r (
            document_id, collection_id, bucket, constraint_name, target, target_columns,
            target_key)
        SELECT s.id, s.collection_id, s.bucket, t.key, 0::oid::regclass,
            ARRAY(SELECT jsonb_array_elements_text(foreign_keys -> t.key)), t.value
        FROM source AS s
        CROSS JOIN LATERAL jsonb_each_text(s.targets) AS t
        ON CONFLICT ON CONSTRAINT key_reference_pkey DO UPDATE
        SET target_columns = excluded.target_columns, target_key = excluded.target_key
        WHERE (r.target_columns, r.target_key) <> (excluded.target_columns, excluded.target_key)
        RETURNING r.document_id
    ), gone AS (
        DELETE FROM pgblend_data.key_reference AS r
        USING source AS s
        WHERE r.document_id = s.id AND NOT s.targets ? r.constraint_name
        RETURNING r.document_id
    ), changed AS MATERIALIZED (
        SELECT s.document_id FROM stored AS s UNION SELECT g.document_id FROM gone AS g
    ), noted AS (
        INSERT INTO pgblend_data.graph_change (collection_id, source_key)
        SELECT s.collection_id, s.source_key FROM source AS s
        WHERE s.id IN (SELECT c.document_id FROM changed AS c)
            OR foreign_keys IS NOT NULL AND s.id <> ALL(old_ids)
    )

    DELETE FROM pgblend_data.edge AS e
    WHERE e.document_id IN (SELECT c.document_id FROM changed AS c)
        AND e.document_id <> 0 AND e.origin = 'key';
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

-- _note_pushed: note which version of the front a shard of this coordinator was given.
-- Runs with its owner's rights, since nobody else writes what shards there are; only admins may
-- call it.
CREATE OR REPLACE FUNCTION pgblend._note_pushed(number integer, version bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    UPDATE pgblend_data.shard AS s SET pushed_version = version
    WHERE s.number = _note_pushed.number;
END;
$function$;
