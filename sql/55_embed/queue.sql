-- queue_missing_vectors: queue the chunks that neither have a vector in a space nor wait for one;
-- returns how many.
-- A trigger queues new chunks; this mends what went past it, such as a restore without triggers.
-- Chunks that are being deleted are left out, and those of an attached table whose rows have
-- vectors. An unknown space is an error, and so is one
-- whose vectors callers bring (55000).
CREATE OR REPLACE FUNCTION blend.queue_missing_vectors(space text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target record := pgblend._named_space(space);
BEGIN
    IF NOT target.asks_model THEN
        RAISE EXCEPTION 'callers bring the vectors of embedding space "%": no model makes them',
            target.name
            USING ERRCODE = '55000',
            HINT = 'Store vectors (store_embeddings), or make a space for a model: pgblend space create.';
    END IF;
    RETURN pgblend._queue_missing(target, NULL);
END;
$function$;

-- retry_embeddings: queue dead letters and postponed chunks anew, as if they had never failed;
-- returns how many.
-- NULL means all spaces; an unknown space is an error. It takes chunks of collections that the
-- caller may write.
CREATE OR REPLACE FUNCTION blend.retry_embeddings(space text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    queued bigint;
BEGIN
    IF space IS NOT NULL THEN
        PERFORM pgblend._named_space(space);
    END IF;
    UPDATE pgblend_data.embedding_queue AS q
    SET attempts = 0, not_before = NULL, dead_at = NULL, queued_at = now()
    WHERE q.space = coalesce(retry_embeddings.space, q.space)
        AND (q.dead_at IS NOT NULL OR q.not_before IS NOT NULL)
        AND pgblend._may_write(q.collection_id);
    GET DIAGNOSTICS queued = ROW_COUNT;
    IF queued > 0 THEN
        PERFORM pgblend._wake_workers();
    END IF;
    RETURN queued;
END;
$function$;

-- _chunk_enqueue: trigger that queues new chunks for a vector in every embedding space that a model
-- fills.
CREATE OR REPLACE FUNCTION pgblend._chunk_enqueue()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.embedding_queue (space, chunk_id, document_id, collection_id, bucket)
    SELECT w.space, c.id, c.document_id, c.collection_id, c.bucket
    FROM (
        SELECT s.name AS space, n.collection_id,
            pgblend._first_embedded(s, n.collection_id) AS first_index
        FROM (SELECT DISTINCT o.collection_id FROM new_chunk AS o) AS n
        CROSS JOIN pgblend_data.embedding_space AS s
        OFFSET 0
    ) AS w
    INNER JOIN new_chunk AS c
        ON c.collection_id = w.collection_id AND c.chunk_index >= w.first_index;
    IF FOUND THEN
        PERFORM pgblend._wake_workers();
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_30_enqueue AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_enqueue();

-- _queue_again: queue chunks for a new vector, in every space that a model fills; the one they
-- have stays until then.
-- A worker that has one of them at the model loses its claim, so what it brings is not stored.
CREATE OR REPLACE FUNCTION pgblend._queue_again(chunk_ids bigint[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.embedding_queue AS q (
        space, chunk_id, document_id, collection_id, bucket)
    SELECT s.name, c.id, c.document_id, c.collection_id, c.bucket
    FROM pgblend_data.chunk AS c
    CROSS JOIN pgblend_data.embedding_space AS s
    WHERE c.id = ANY(chunk_ids)
        AND c.chunk_index >= pgblend._first_embedded(s, c.collection_id)
    ON CONFLICT ON CONSTRAINT embedding_queue_pkey DO UPDATE
    SET worker = NULL, attempts = 0, not_before = NULL, dead_at = NULL, queued_at = now();
    IF FOUND THEN
        PERFORM pgblend._wake_workers();
    END IF;
END;
$function$;

-- _wake_workers: tell waiting workers that there is work, once this transaction commits.
-- Only where one waits: a NOTIFY makes the commits of all sessions go one after another. A worker
-- that begins to wait just then looks by itself soon after. Where transactions may be prepared
-- (max_prepared_transactions) it does nothing, since one with a NOTIFY cannot be: workers look by
-- themselves, every half minute at least.
CREATE OR REPLACE FUNCTION pgblend._wake_workers()
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF current_setting('max_prepared_transactions') <> '0'
        OR NOT EXISTS (SELECT FROM pgblend_data.embedding_worker AS w WHERE w.waits)
    THEN
        RETURN;  -- the other question takes 25 times as long to get ready
    END IF;
    IF EXISTS (
        SELECT FROM pgblend_data.embedding_worker AS w
        WHERE w.waits AND w.id = ANY((SELECT pgblend._live_workers())::integer[]))
    THEN
        PERFORM pg_notify('pgblend_embedding', '');
    END IF;
END;
$function$;

-- _fail_embeddings: set texts aside that the model refused one by one; returns how many were given
-- up.
-- Each waits embedding_retry_seconds · 2^(attempts - 1), half of it to one and a half times it at
-- random, at most a day. After embedding_max_attempts it is a dead letter. Chunks that the worker
-- has no claim to (any more), and those that are being deleted, are left as they are.
CREATE OR REPLACE FUNCTION pgblend._fail_embeddings(
    space text,
    worker integer,
    chunk_ids bigint[],
    reasons text[]
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    most_attempts integer := (blend.get_setting('embedding_max_attempts') #>> '{}')::integer;
    base_seconds double precision :=
        (blend.get_setting('embedding_retry_seconds') #>> '{}')::double precision;
    dead bigint;
    refused bigint;
BEGIN
    WITH failure AS (
        UPDATE pgblend_data.embedding_queue AS q
        SET worker = NULL,
            attempts = q.attempts + 1,
            last_error = left(pgblend._mask_secrets(f.reason), 1000),
            not_before = clock_timestamp() + make_interval(secs => least(
                86400, base_seconds * 2 ^ least(q.attempts, 30) * (0.5 + random()))),
            dead_at = CASE WHEN q.attempts + 1 >= most_attempts THEN clock_timestamp() END
        FROM (
            SELECT o.chunk_id, o.collection_id, g.reason
            FROM unnest(chunk_ids, reasons) AS g (chunk_id, reason)
            INNER JOIN pgblend_data.embedding_queue AS o ON o.chunk_id = g.chunk_id
            WHERE o.space = _fail_embeddings.space AND o.worker = _fail_embeddings.worker
            FOR UPDATE OF o SKIP LOCKED
        ) AS f
        WHERE q.space = _fail_embeddings.space
            AND (q.chunk_id, q.collection_id) = (f.chunk_id, f.collection_id)
        RETURNING q.dead_at
    )
    SELECT count(f.dead_at), count(*) INTO dead, refused FROM failure AS f;
    UPDATE pgblend_data.embedding_worker AS w
    SET failed = w.failed + refused, seen_at = now()
    WHERE w.id = worker;
    RETURN dead;
END;
$function$;

-- _queue_missing: queue the chunks that a space's model embeds, and that neither have a vector nor
-- wait for one; returns how many.
-- Those of a collection, by its id; NULL: of all. Chunks that are being deleted are left out.
CREATE OR REPLACE FUNCTION pgblend._queue_missing(
    target pgblend_data.embedding_space,
    collection bigint
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    queued bigint;
BEGIN
    -- A foreign key would wait for deletes, which may wait for this, and fail after them.
    -- Calls in text: _first_embedded (a space's table).
    EXECUTE format(
        'INSERT INTO pgblend_data.embedding_queue (
            space, chunk_id, document_id, collection_id, bucket)
        SELECT $1, c.id, c.document_id, c.collection_id, c.bucket
        FROM pgblend_data.chunk AS c
        INNER JOIN (
            SELECT o.id, pgblend._first_embedded($2, o.id) AS first_index
            FROM pgblend_data.collection AS o
            WHERE o.id = coalesce($3, o.id) OFFSET 0
        ) AS w ON c.collection_id = w.id AND c.chunk_index >= w.first_index
        WHERE NOT EXISTS (SELECT FROM pgblend_data.%I AS e WHERE e.chunk_id = c.id)
        FOR KEY SHARE OF c SKIP LOCKED
        ON CONFLICT DO NOTHING', target.table_name)
    USING target.name, target, collection;
    GET DIAGNOSTICS queued = ROW_COUNT;
    RETURN queued;
END;
$function$;
