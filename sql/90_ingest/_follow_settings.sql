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
        PERFORM pgblend._queue_changed_prefix(
            collection_id, old_settings ->> 'embedding_prefix',
            new_settings ->> 'embedding_prefix');
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
