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

-- attached_vectors: no rows: a coordinator takes no vectors of tables over.
CREATE OR REPLACE FUNCTION blend.attached_vectors()
RETURNS TABLE (
    table_name text,
    space text,
    rows bigint,
    vectors bigint,
    without_vector bigint,
    long_rows bigint,
    examples text
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
AS $function$
BEGIN
    RETURN;
END;
$function$;

-- probe_attached_table: an error: a coordinator takes no vectors of tables over, so that a model
-- makes those of all rows.
CREATE OR REPLACE FUNCTION blend.probe_attached_table(table_name text)
RETURNS TABLE (
    model text,
    compared integer,
    nearest integer,
    likeness double precision,
    same_model boolean
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
COST 100000
AS $function$
BEGIN
    RAISE EXCEPTION 'the rows of % have no vectors', table_name
        USING ERRCODE = '22023', HINT = 'A coordinator of shards takes none over.';
END;
$function$;

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

-- _claim_documents: nothing is claimed here: rows are read by the worker alone, one at a time.
CREATE OR REPLACE FUNCTION pgblend._claim_documents(
    attached pgblend_data.attached_table,
    keys text[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;

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

-- _prepare_collection: nothing is noted here: each shard knows the languages of its documents.
CREATE OR REPLACE FUNCTION pgblend._prepare_collection(wanted pgblend_data.attached_table)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;

-- _unlike_rows: how many rows an attached table has, and documents its collection on all shards;
-- NULL where these are as many.
CREATE OR REPLACE FUNCTION pgblend._unlike_rows(attached pgblend_data.attached_table)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    rows bigint := (SELECT count(*) FROM pgblend._attached_rows(attached, 'keys', NULL, NULL));
    documents bigint := pgblend._document_count(attached.collection_id);
BEGIN
    IF rows <> documents THEN
        RETURN format('the table has %s rows, its collection %s documents', rows, documents);
    END IF;
    RETURN NULL;
END;
$function$;

-- _settle_vectors: nothing changes here: rows of a coordinator's tables bring no vectors.
CREATE OR REPLACE FUNCTION pgblend._settle_vectors(
    attached pgblend_data.attached_table,
    old pgblend_data.attached_table
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;

-- _tell_vectors: nothing is told here: rows of a coordinator's tables bring no vectors.
CREATE OR REPLACE FUNCTION pgblend._tell_vectors(
    attached pgblend_data.attached_table,
    filled boolean,
    probe boolean
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;

-- _vector_space: the wanted attachment: a coordinator takes no vectors of rows over, since shards
-- store them.
CREATE OR REPLACE FUNCTION pgblend._vector_space(
    wanted pgblend_data.attached_table,
    model text
)
RETURNS pgblend_data.attached_table
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF wanted.embedding_column IS NOT NULL OR model IS NOT NULL THEN
        RAISE EXCEPTION 'a coordinator of shards takes no vectors of a table over (embedding_column)'
            USING ERRCODE = 'feature_not_supported',
            HINT = 'Without it, pgblend worker makes the vectors.';
    END IF;
    RETURN wanted;
END;
$function$;
