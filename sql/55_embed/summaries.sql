-- set_summary: give a document a summary of one's own, in place of a model's; false where there is
-- no such document.
-- NULL and an empty text remove it. Chunks whose text to embed changes wait for a new vector.
CREATE OR REPLACE FUNCTION blend.set_summary(document_id bigint, summary text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN pgblend._store_summary(document_id, NULL, coalesce(btrim(summary), ''), NULL);
END;
$function$;

-- _store_summary: store a document's summary and queue the chunks whose text to embed changes.
-- False where the document's text is another by now; a NULL content_hash stands for any. Ends the
-- claim of _next_summaries.
CREATE OR REPLACE FUNCTION pgblend._store_summary(
    document_id bigint,
    content_hash text,
    summary text,
    key text,
    made_by text DEFAULT NULL
)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.document;
    before text;
    prefix text;
BEGIN
    summary := pgblend._uncontrolled(summary);
    UPDATE pgblend_data.document_summary AS m
    SET worker = NULL
    WHERE m.document_id = _store_summary.document_id AND content_hash IS NOT NULL;
    SELECT d.* INTO target FROM pgblend_data.document AS d
    WHERE d.id = document_id
        AND d.content_hash = coalesce(_store_summary.content_hash, d.content_hash)
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT m.summary, pgblend._collection_settings(n.settings) ->> 'embedding_prefix'
    INTO before, prefix
    FROM pgblend_data.collection AS n
    LEFT JOIN pgblend_data.document_summary AS m ON m.document_id = target.id
    WHERE n.id = target.collection_id;
    INSERT INTO pgblend_data.document_summary AS m (
        document_id, collection_id, bucket, summary, key, made_by, made_at)
    VALUES (target.id, target.collection_id, target.bucket, summary, key, made_by, now())
    ON CONFLICT ON CONSTRAINT document_summary_pkey DO UPDATE
    SET summary = excluded.summary, key = excluded.key, made_by = excluded.made_by,
        outdated = false, failures = 0, reason = NULL, made_at = now();
    PERFORM pgblend._queue_again(ARRAY(
        SELECT c.id
        FROM pgblend_data.chunk AS c
        WHERE c.document_id = target.id
            AND pgblend._embedding_input(prefix, target.title, c.heading, c.content, before, c.context)
                <> pgblend._embedding_input(
                    prefix, target.title, c.heading, c.content, summary, c.context)));
    RETURN true;
END;
$function$;

-- _renew_summaries: queue documents whose summary is of another model or prompt than made_by;
-- returns how many.
-- Old summaries serve until the new ones come; those set by hand stay. Documents that were given up
-- are tried again. NULL collection means all; an unknown one is an error.
CREATE OR REPLACE FUNCTION pgblend._renew_summaries(made_by text, collection text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    asked bigint := CASE WHEN collection IS NOT NULL
        THEN (pgblend._named_collection(collection)).id END;
    renewed bigint;
BEGIN
    UPDATE pgblend_data.document_summary AS m
    SET outdated = m.summary IS NOT NULL, failures = 0, reason = NULL
    WHERE (asked IS NULL OR m.collection_id = asked)
        AND (m.failures >= 3 OR NOT m.outdated AND m.summary <> '' AND m.key IS NOT NULL
            AND m.made_by IS DISTINCT FROM _renew_summaries.made_by);
    GET DIAGNOSTICS renewed = ROW_COUNT;
    IF renewed > 0 THEN
        PERFORM pgblend._wake_workers();
    END IF;
    RETURN renewed;
END;
$function$;

-- _summary_counts: for each collection that has or wants summaries, how many there are, how many of
-- another model or prompt than made_by, how many wait, and how many were given up.
-- Those set by hand are of no model. NULL made_by: none is of another.
CREATE OR REPLACE FUNCTION pgblend._summary_counts(made_by text)
RETURNS TABLE (collection text, summaries bigint, other bigint, waiting bigint, given_up bigint)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 10
BEGIN ATOMIC
    SELECT
        c.name AS collection,
        count(*) FILTER (WHERE m.summary <> '') AS summaries,
        count(*) FILTER (
            WHERE m.summary <> '' AND m.key IS NOT NULL AND NOT m.outdated
            AND m.made_by <> _summary_counts.made_by
        ) AS other,
        count(*) FILTER (WHERE (m.summary IS NULL OR m.outdated) AND m.failures < 3) AS waiting,
        count(*) FILTER (WHERE (m.summary IS NULL OR m.outdated) AND m.failures >= 3) AS given_up
    FROM pgblend_data.document_summary AS m
    INNER JOIN pgblend_data.collection AS c ON m.collection_id = c.id
    GROUP BY c.name
    ORDER BY c.name;
END;

-- _next_summaries: documents that wait for a summary, or for another one, with the beginning of
-- their text, claimed for a worker (_start_worker).
-- A claim holds no lock; it ends with _store_summary, _fail_summary or the worker's session. Three
-- failures are enough. The text is at most `most_characters` long.
CREATE OR REPLACE FUNCTION pgblend._next_summaries(
    batch_size integer,
    most_characters integer,
    worker integer
)
RETURNS TABLE (document_id bigint, content_hash text, title text, content text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
AS $function$
DECLARE
    document_ids bigint[];
BEGIN
    WITH batch AS MATERIALIZED (
        SELECT m.document_id
        FROM pgblend_data.document_summary AS m
        WHERE (m.summary IS NULL OR m.outdated)
            AND m.failures < 3
            AND (m.worker IS NULL OR m.worker <> ALL((SELECT pgblend._live_workers())::integer[]))
        ORDER BY m.failures, m.document_id
        LIMIT batch_size
        FOR UPDATE SKIP LOCKED
    ), claim AS (
        UPDATE pgblend_data.document_summary AS m
        SET worker = _next_summaries.worker
        FROM batch AS b
        WHERE m.document_id = b.document_id
    )
    SELECT array_agg(b.document_id) INTO document_ids FROM batch AS b;
    RETURN QUERY
    SELECT d.id, d.content_hash, d.title, left((
        SELECT string_agg(substr(c.content, c.own_start + 1), E'\n' ORDER BY c.chunk_index)
        FROM (
            SELECT o.content, o.own_start, o.chunk_index FROM pgblend_data.chunk AS o
            WHERE o.document_id = d.id ORDER BY o.chunk_index LIMIT 100
        ) AS c), most_characters)
    FROM unnest(document_ids) WITH ORDINALITY AS n (id, place)
    INNER JOIN pgblend_data.document AS d ON d.id = n.id
    ORDER BY n.place;
END;
$function$;

-- _fail_summary: note that a document could not be summed up, and why; ends the claim.
-- Its chunks are embedded without a summary from now on. Where its text may be the reason, three
-- failures are enough, and nobody tries again.
CREATE OR REPLACE FUNCTION pgblend._fail_summary(
    document_id bigint,
    reason text,
    may_be_the_text boolean
)
RETURNS void
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    UPDATE pgblend_data.document_summary AS m
    SET
        worker = NULL,
        failures = CASE WHEN may_be_the_text THEN m.failures + 1 ELSE greatest(m.failures, 1) END,
        reason = left(pgblend._mask_secrets(_fail_summary.reason), 1000)
    WHERE m.document_id = _fail_summary.document_id;
END;
