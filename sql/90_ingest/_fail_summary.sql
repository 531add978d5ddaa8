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
