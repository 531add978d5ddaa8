-- _follow_settings: do what other settings of a collection ask for: vectors of chunks whose prefix
-- changed, summaries of documents that have none.
-- Takes all settings of scope collection as they were and as they are. Without summaries, nothing
-- waits for one any more; those that are there stay.
CREATE OR REPLACE FUNCTION pgblend._follow_settings(
    collection_id bigint,
    old_settings jsonb,
    new_settings jsonb
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    IF old_settings -> 'embedding_prefix' <> new_settings -> 'embedding_prefix' THEN
        -- A chunk without title and heading, for one, is the same with "title" as with "none".
        PERFORM pgblend._queue_again(array_agg(c.id))
        FROM pgblend_data.chunk AS c
        INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
        LEFT JOIN pgblend_data.document_summary AS m ON m.document_id = d.id
        WHERE c.collection_id = _follow_settings.collection_id
            AND pgblend._embedding_input(
                    old_settings ->> 'embedding_prefix', d.title, c.heading, c.content, m.summary)
                <> pgblend._embedding_input(
                    new_settings ->> 'embedding_prefix', d.title, c.heading, c.content, m.summary);
    END IF;
    IF NOT (old_settings ->> 'summaries')::boolean AND (new_settings ->> 'summaries')::boolean THEN
        PERFORM pgblend._want_summaries(ARRAY(
            SELECT d.id FROM pgblend_data.document AS d
            WHERE d.collection_id = _follow_settings.collection_id), false);
    ELSIF NOT (new_settings ->> 'summaries')::boolean THEN
        DELETE FROM pgblend_data.document_summary AS m
        WHERE m.collection_id = _follow_settings.collection_id AND m.summary IS NULL;
        UPDATE pgblend_data.document_summary AS m SET outdated = false
        WHERE m.collection_id = _follow_settings.collection_id AND m.outdated;
    END IF;
END;
$function$;
