-- _want_summaries: let documents wait for a summary, those without one; returns how many.
-- Messages speak for themselves: exports of them and mails get none. With is_new, documents that
-- have one wait for another, since their text is another.
CREATE OR REPLACE FUNCTION pgblend._want_summaries(document_ids bigint[], is_new boolean)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    wanted bigint;
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
    GET DIAGNOSTICS wanted = ROW_COUNT;
    RETURN wanted;
END;
$function$;
