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
