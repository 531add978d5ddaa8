-- _want_summaries: queue documents without a summary for one.
-- Messages speak for themselves: exports of them and mails get none. With is_new, documents that
-- have one wait for another, since their text is another.
CREATE OR REPLACE FUNCTION pgblend._want_summaries(document_ids bigint[], is_new boolean)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.document_summary AS m (document_id, collection_id, bucket)
    SELECT d.id, d.collection_id, d.bucket
    FROM pgblend_data.document AS d
    WHERE d.id = ANY(document_ids)
        AND coalesce(d.media_type, '') <> ALL('{application/x-slack-export, application/x-linear,
            application/mbox, message/rfc822, application/vnd.ms-outlook}')
    ON CONFLICT ON CONSTRAINT document_summary_pkey DO UPDATE
    SET summary = NULL, key = NULL, made_by = NULL, outdated = false, failures = 0,
        reason = NULL, made_at = NULL
    WHERE is_new;
END;
$function$;

-- _document_want_summary: trigger that queues a new text for a summary, where its collection has
-- summaries.
-- Elsewhere a summary that was there goes: it is of another text.
CREATE OR REPLACE FUNCTION pgblend._document_want_summary()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF TG_OP = 'UPDATE' AND new.content_hash = old.content_hash THEN
        RETURN NULL;
    ELSIF coalesce(  -- that setting alone, since each document that is written asks
        (SELECT c.settings -> 'summaries' FROM pgblend_data.collection AS c
            WHERE c.id = new.collection_id),
        (SELECT s.value FROM pgblend_data.setting AS s WHERE s.name = 'summaries'),
        'false')::boolean
    THEN
        PERFORM pgblend._want_summaries(ARRAY[new.id], true);
    ELSIF TG_OP = 'UPDATE' THEN
        DELETE FROM pgblend_data.document_summary AS m WHERE m.document_id = new.id;
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER document_50_want_summary AFTER INSERT OR UPDATE ON pgblend_data.document
FOR EACH ROW EXECUTE FUNCTION pgblend._document_want_summary();
