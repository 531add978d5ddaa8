-- _seal_waiting: seal the collections that at least so many chunks wait in; returns how many.
-- For workers: what many small transactions left, whose own seal at commit is one in 256 chunks. A
-- collection that failed within the last minute is left alone; 0 without numpy.
CREATE OR REPLACE FUNCTION pgblend._seal_waiting(at_least integer)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target bigint;
    total bigint := 0;
BEGIN
    IF NOT pgblend._has_numpy() THEN
        RETURN 0;
    END IF;
    FOR target IN
        SELECT p.collection_id
        FROM pgblend_data.pending AS p
        WHERE pgblend._may_write(p.collection_id)
            AND NOT EXISTS (
                SELECT FROM pgblend_data.lexical_failure AS f
                WHERE f.collection_id = p.collection_id
                    AND f.failed_at > now() - interval '1 minute'
                    AND f.failed_at < clock_timestamp() + interval '1 minute')
        GROUP BY p.collection_id
        HAVING count(*) >= at_least
        ORDER BY p.collection_id
    LOOP
        total := total + coalesce(pgblend._index_collection(target, 'seal', at_least), 0);
    END LOOP;
    RETURN total;
END;
$function$;
