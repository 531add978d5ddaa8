-- _drop_pending: take chunks of a collection off pending, NULL: all; the caller brings them into a
-- segment by another way.
-- Those that another transaction is deleting stay.
-- Runs with its owner's rights, for a transaction that holds the collection's claim; else 42501.
CREATE OR REPLACE FUNCTION pgblend._drop_pending(collection_id bigint, chunk_ids bigint[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    PERFORM pgblend._check_index_claim(collection_id);
    DELETE FROM pgblend_data.pending AS p
    WHERE p.ctid = ANY(ARRAY(
        SELECT w.ctid FROM pgblend_data.pending AS w
        WHERE w.collection_id = _drop_pending.collection_id
            AND (chunk_ids IS NULL OR w.chunk_id IN (SELECT n FROM unnest(chunk_ids) AS n))
        FOR UPDATE SKIP LOCKED));
END;
$function$;
