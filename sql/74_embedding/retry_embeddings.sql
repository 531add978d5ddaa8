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
