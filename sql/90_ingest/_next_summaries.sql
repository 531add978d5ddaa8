-- _next_summaries: documents that wait for a summary, or for another one, with the beginning of
-- their text, held for this session.
-- A claim is an advisory lock: it ends with _store_summary, _fail_summary or the session. Three
-- failures are enough. The text is at most `most_characters` long.
CREATE OR REPLACE FUNCTION pgblend._next_summaries(batch_size integer, most_characters integer)
RETURNS TABLE (document_id bigint, content_hash text, title text, content text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    waiting record;
    claimed integer := 0;
BEGIN
    FOR waiting IN
        SELECT m.document_id FROM pgblend_data.document_summary AS m
        WHERE (m.summary IS NULL OR m.outdated) AND m.failures < 3
        ORDER BY m.failures, m.document_id
    LOOP
        EXIT WHEN claimed >= batch_size;
        IF NOT pg_try_advisory_lock(pgblend._summary_lock(waiting.document_id)) THEN
            CONTINUE;
        END IF;
        RETURN QUERY
        SELECT d.id, d.content_hash, d.title, left((
            SELECT string_agg(substr(c.content, c.own_start + 1), E'\n' ORDER BY c.chunk_index)
            FROM (
                SELECT o.content, o.own_start, o.chunk_index FROM pgblend_data.chunk AS o
                WHERE o.document_id = d.id ORDER BY o.chunk_index LIMIT 100
            ) AS c), most_characters)
        FROM pgblend_data.document AS d
        INNER JOIN pgblend_data.document_summary AS m ON m.document_id = d.id
        WHERE d.id = waiting.document_id
            AND (m.summary IS NULL OR m.outdated) AND m.failures < 3;
        IF FOUND THEN
            claimed := claimed + 1;
        ELSE
            PERFORM pg_advisory_unlock(pgblend._summary_lock(waiting.document_id));
        END IF;
    END LOOP;
END;
$function$;

COMMENT ON FUNCTION pgblend._next_summaries(integer, integer) IS
'Documents that wait for a summary, with the beginning of their text, held for this session.';
