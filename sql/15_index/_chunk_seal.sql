-- _chunk_seal: trigger that seals at commit, once enough chunks of a collection wait for it.
-- Once a transaction, though every 256th chunk calls it. A seal that failed is tried again after a
-- minute; one that a cancel ends does not take the commit along. Under REPEATABLE READ and above,
-- the seal is left to the next transaction: it has to see what others commit.
CREATE OR REPLACE FUNCTION pgblend._chunk_seal()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target bigint := coalesce(NEW.collection_id, OLD.collection_id);
    visit text := concat_ws(' ', pg_current_xact_id(), target);
BEGIN
    IF current_setting('pgblend.seal_visit', true) = visit
        OR current_setting('transaction_isolation') <> 'read committed'
        OR EXISTS (
            SELECT FROM pgblend_data.lexical_failure AS f
            WHERE f.collection_id = target AND f.failed_at > now() - interval '1 minute')
    THEN
        RETURN NULL;
    END IF;
    PERFORM set_config('pgblend.seal_visit', visit, true);
    IF pgblend._has_numpy() THEN
        BEGIN
            PERFORM pgblend._index_collection(target, 'seal', 1000);
        EXCEPTION WHEN query_canceled THEN
            PERFORM pgblend._note_failure(target, SQLERRM);
        END;
    END IF;
    RETURN NULL;
END;
$function$;
