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
    attached record := pgblend._attachment(table_name);
    keys text[];
    last_key text[];
    looked_at bigint;
BEGIN
    IF batch_size IS NULL OR batch_size NOT BETWEEN 1 AND 100000 THEN
        RAISE EXCEPTION 'batch_size is %: expected 1 to 100000', coalesce(batch_size::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'Writers wait for a batch at most; 500 is usual.';
    END IF;
    attached := pgblend._locked_attachment(attached.id);
    IF anew THEN
        attached.filled := false;
        attached.filled_to := NULL;
        attached.foreign_keys := pgblend._foreign_key_names(attached.relation);
        PERFORM pgblend._follow_partitions(attached.id);
    END IF;
    IF NOT attached.filled THEN
        -- In the order of the key columns, which an index gives.
        SELECT
            array_agg(r.key ORDER BY r.place),
            (array_agg(r.parts::text ORDER BY r.place DESC))[1]::text[]
        INTO keys, last_key
        FROM pgblend._attached_rows(attached, 'next', attached.filled_to, batch_size)
            WITH ORDINALITY AS r (
                key, parts, title, content, metadata, uri, modified_at, targets, embedding,
                readers, place);
    END IF;
    IF attached.is_view THEN
        PERFORM pgblend._check_view_keys(attached, keys);
    END IF;
    attached.filled := keys IS NULL;
    attached.filled_to := last_key;
    IF keys IS NULL THEN
        looked_at := pgblend._delete_orphans(attached, batch_size);
    ELSE
        looked_at := cardinality(keys);
        PERFORM pgblend._claim_documents(attached, keys);
        PERFORM pgblend._apply_changes(attached, keys);
    END IF;
    PERFORM pgblend._note_filled(attached, looked_at = 0);
    RETURN looked_at;
END;
$function$;

-- _delete_orphans: delete documents whose row is gone from the attached table, at most so many;
-- returns how many were looked at.
-- NULL for most means all. The attachment must be sound (_attachment_queries).
CREATE OR REPLACE FUNCTION pgblend._delete_orphans(
    attached pgblend_data.attached_table,
    most integer
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET timezone = 'UTC'
AS $function$
DECLARE
    keys text[] := ARRAY(
        SELECT d.source_key
        FROM pgblend_data.document AS d
        LEFT JOIN pgblend._attached_rows(attached, 'keys', NULL, NULL) AS r
            ON d.source_key = r.key
        WHERE d.collection_id = ANY(pgblend._compartments(attached.collection_id)) AND r.key IS NULL
        ORDER BY d.source_key COLLATE "C"
        LIMIT most);
BEGIN
    PERFORM pgblend._claim_documents(attached, keys);
    PERFORM pgblend._apply_changes(attached, keys);
    RETURN cardinality(keys);
END;
$function$;

-- _claim_documents: lock the documents of some keys of an attached table, and make those that are
-- not there, before their rows are read.
-- What every writer before has committed is seen then, and every writer after waits. Where rows
-- have readers of their own, the collection is locked: none is made where others would see it.
CREATE OR REPLACE FUNCTION pgblend._claim_documents(
    attached pgblend_data.attached_table,
    keys text[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF attached.rights_column IS NOT NULL THEN
        PERFORM pgblend._lock_compartments(attached.collection_id, true);
        RETURN;
    END IF;
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
END;
$function$;

-- _locked_attachment: an attachment, which nobody else changes until the transaction ends.
-- Runs with its owner's rights, as _keep_attachment: for who may read all of the table's rows.
CREATE OR REPLACE FUNCTION pgblend._locked_attachment(attachment_id integer)
RETURNS pgblend_data.attached_table
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    attached pgblend_data.attached_table;
BEGIN
    SELECT a.* INTO attached FROM pgblend_data.attached_table AS a
    WHERE a.id = attachment_id FOR NO KEY UPDATE;
    PERFORM pgblend._check_may_read(attached.relation);
    RETURN attached;
END;
$function$;

-- _follow_partitions: have the partitions of an attached table as they are now followed, and noted
-- as those whose rows are read.
-- Runs with its owner's rights, as _keep_attachment: for who may read all of the table's rows.
CREATE OR REPLACE FUNCTION pgblend._follow_partitions(attachment_id integer)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    attached pgblend_data.attached_table;
    gone record;
BEGIN
    SELECT a.* INTO attached FROM pgblend_data.attached_table AS a WHERE a.id = attachment_id;
    PERFORM pgblend._check_may_read(attached.relation);
    IF pgblend._partition_changes(attached) IS NOT NULL THEN
        PERFORM pgblend._follow_relations(attached);
        FOR gone IN
            SELECT t.* FROM pgblend._own_triggers(attached.id) AS t
            WHERE t.relation = ANY(attached.partitions)
                AND t.relation <> ALL(pgblend._partitions(attached.relation))
        LOOP
            -- Calls in text: none (triggers of a user's table).
            EXECUTE format('DROP TRIGGER %I ON %s', gone.name, gone.relation);
        END LOOP;
        UPDATE pgblend_data.attached_table AS a
        SET partitions = pgblend._partitions(a.relation)
        WHERE a.id = attachment_id;
    END IF;
END;
$function$;

-- _note_filled: note how far an attachment is filled, and with which foreign keys; what was wrong
-- is well again with is_over.
-- Runs with its owner's rights, as _keep_attachment: for who may read all of the table's rows.
CREATE OR REPLACE FUNCTION pgblend._note_filled(
    attached pgblend_data.attached_table,
    is_over boolean
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    PERFORM pgblend._check_may_read(a.relation)
    FROM pgblend_data.attached_table AS a WHERE a.id = attached.id;
    UPDATE pgblend_data.attached_table AS a
    SET filled = attached.filled,
        filled_to = attached.filled_to,
        foreign_keys = attached.foreign_keys,
        problem = CASE WHEN NOT is_over THEN a.problem END
    WHERE a.id = attached.id;
END;
$function$;

-- _check_view_keys: raise where rows of an attached view have no key, or share one.
-- keys are those of the next rows; with NULL, after the last, all rows are looked at.
CREATE OR REPLACE FUNCTION pgblend._check_view_keys(
    attached pgblend_data.attached_table,
    keys text[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    wrong record;
BEGIN
    SELECT k.key, count(*) AS times INTO wrong
    FROM unnest(coalesce(keys, ARRAY(
        SELECT r.key FROM pgblend._attached_rows(attached, 'keys', NULL, NULL) AS r))) AS k (key)
    GROUP BY k.key
    HAVING k.key IS NULL OR count(*) > 1
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '% rows of the view % have the key %: expected one row for each key',
            wrong.times, attached.relation, coalesce(quote_literal(left(wrong.key, 200)), 'NULL')
            USING ERRCODE = '23505', HINT = 'Name key_columns that tell the rows apart.';
    END IF;
END;
$function$;
