-- fill_table: store the next rows of an attached table, at most batch_size; returns how many.
-- Call it again, each time in a transaction of its own, until it returns 0. Then all rows are
-- stored, and documents without a row are gone. Writers of the table are not stopped. Where one
-- stands in the way for half a second, the call fails with 55P03 and can be repeated. anew begins
-- with the first row again; documents that are up to date stay. For members of pgblend_admin who
-- may read the table.
CREATE OR REPLACE FUNCTION blend.fill_table(
    table_name text,
    batch_size integer DEFAULT 500,
    anew boolean DEFAULT false
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET lock_timeout = '500ms'
SET timezone = 'UTC'
SET datestyle = 'ISO, YMD'
AS $function$
DECLARE
    attached pgblend_data.attached_table := pgblend._attachment(table_name);
    keys text[];
    last_key text[];
BEGIN
    IF batch_size IS NULL OR batch_size NOT BETWEEN 1 AND 100000 THEN
        RAISE EXCEPTION 'batch_size is %: expected 1 to 100000', coalesce(batch_size::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'Writers wait for a batch at most; 500 is usual.';
    END IF;
    SELECT a.* INTO attached FROM pgblend_data.attached_table AS a
    WHERE a.id = attached.id FOR UPDATE;
    IF anew THEN
        attached.filled := false;
        attached.filled_to := NULL;
        attached.foreign_keys := pgblend._foreign_key_names(attached.relation);
    END IF;
    IF NOT attached.filled THEN
        -- In the order of the key columns, which an index gives.
        SELECT
            array_agg(r.key ORDER BY r.place),
            (array_agg(r.parts::text ORDER BY r.place DESC))[1]::text[]
        INTO keys, last_key
        FROM pgblend._attached_rows(attached, 'next', attached.filled_to, batch_size)
            WITH ORDINALITY AS r (
                key, parts, title, content, metadata, uri, modified_at, targets, place);
    END IF;
    attached.filled := keys IS NULL;
    attached.filled_to := last_key;
    keys := coalesce(keys, pgblend._orphan_keys(attached, batch_size));
    -- Documents are locked, and made where they are not, before their rows are read: what every
    -- writer before has committed is seen then, and every writer after waits.
    INSERT INTO pgblend_data.document (
        collection_id, bucket, source_key, title, text_search_config, metadata, content_hash)
    SELECT c.id, pgblend._bucket(c.id, k.source_key), k.source_key, '', c.text_search_config, '{}',
        ''
    FROM pgblend_data.collection AS c
    CROSS JOIN unnest(keys) AS k (source_key)
    WHERE c.id = attached.collection_id
    ORDER BY k.source_key COLLATE "C"
    ON CONFLICT ON CONSTRAINT document_collection_id_source_key_key
    DO UPDATE SET bucket = excluded.bucket WHERE false;  -- locks the row, changes nothing
    PERFORM pgblend._apply_changes(attached, keys);
    UPDATE pgblend_data.attached_table AS a
    SET filled = attached.filled,
        filled_to = attached.filled_to,
        foreign_keys = attached.foreign_keys,
        problem = CASE WHEN keys IS NOT NULL THEN a.problem END
    WHERE a.id = attached.id;
    RETURN coalesce(cardinality(keys), 0);
END;
$function$;
