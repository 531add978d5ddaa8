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
