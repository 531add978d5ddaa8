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
