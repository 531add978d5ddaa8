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
