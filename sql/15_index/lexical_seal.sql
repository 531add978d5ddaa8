-- lexical_seal: seal what is pending of a collection now, or of all that the caller may write;
-- returns how many chunks.
-- 0 where another session seals already, or the server's Python has no numpy (a NOTICE says so).
-- NULL where it failed: lexical_status() says why, and the old segments go on serving. The sealed
-- chunks cannot be deleted by others until the transaction ends.
CREATE OR REPLACE FUNCTION blend.lexical_seal(collection text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection;
    total bigint := 0;
BEGIN
    IF collection IS NOT NULL THEN
        target := pgblend._writable_collection(collection);
    END IF;
    IF NOT EXISTS (  -- nothing to do: numpy is not loaded for that
        SELECT FROM pgblend_data.pending AS p
        WHERE p.collection_id = coalesce(target.id, p.collection_id)
        UNION ALL
        SELECT FROM pgblend_data.tombstone AS t
        WHERE t.collection_id = coalesce(target.id, t.collection_id)
        UNION ALL
        SELECT FROM pgblend_data.lexical_failure AS f
        WHERE f.collection_id = coalesce(target.id, f.collection_id))
        OR NOT pgblend._check_can_index()
    THEN
        RETURN 0;
    END IF;
    FOR target IN
        SELECT c.* FROM pgblend_data.collection AS c
        WHERE c.id = coalesce(target.id, c.id) AND pgblend._may_write(c.id)
        ORDER BY c.id
    LOOP
        total := total + pgblend._index_collection(target.id, 'seal', 1);
    END LOOP;
    RETURN total;
END;
$function$;
