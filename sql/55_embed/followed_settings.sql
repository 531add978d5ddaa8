-- _collection_follow_settings: trigger that applies a collection's changed settings to its vectors
-- and summaries.
CREATE OR REPLACE FUNCTION pgblend._collection_follow_settings()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM pgblend._follow_settings(
        new.id, pgblend._collection_settings(old.settings),
        pgblend._collection_settings(new.settings));
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER collection_20_follow_settings AFTER UPDATE OF settings
ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._collection_follow_settings();

-- _setting_follow: trigger that applies the database's changed settings to collections without
-- settings of their own.
CREATE OR REPLACE FUNCTION pgblend._setting_follow()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    changed text := coalesce(new.name, old.name);
BEGIN
    IF changed NOT IN ('embedding_prefix', 'summaries') THEN
        RETURN NULL;
    END IF;
    PERFORM pgblend._follow_settings(
        c.id, s.settings || jsonb_build_object(changed, coalesce(old.value, d.default_value)),
        s.settings)
    FROM pgblend_data.collection AS c
    CROSS JOIN LATERAL (SELECT pgblend._collection_settings(c.settings) AS settings) AS s
    INNER JOIN pgblend._setting_catalog() AS d ON d.name = changed
    WHERE NOT c.settings ? changed;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER setting_20_follow AFTER INSERT OR UPDATE OR DELETE ON pgblend_data.setting
FOR EACH ROW EXECUTE FUNCTION pgblend._setting_follow();

-- _follow_settings: apply changed settings to a collection: new vectors where the prefix changed,
-- summaries where there are none.
-- It takes all settings of scope collection as they were and as they are. Without summaries,
-- nothing waits for one any more; those that are there stay.
CREATE OR REPLACE FUNCTION pgblend._follow_settings(
    collection_id bigint,
    old_settings jsonb,
    new_settings jsonb
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
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
                    old_settings ->> 'embedding_prefix', d.title, c.heading, c.content, m.summary,
                    c.context)
                <> pgblend._embedding_input(
                    new_settings ->> 'embedding_prefix', d.title, c.heading, c.content, m.summary,
                    c.context);
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

-- _document_want_summary: trigger that queues new texts for a summary, where their collection has
-- summaries.
-- Elsewhere a summary that was there goes: it is of another text. Asks for that setting alone.
CREATE OR REPLACE FUNCTION pgblend._document_want_summary()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM pgblend._want_summaries(array_agg(n.id), true)
        FROM new_document AS n
        GROUP BY n.collection_id
        HAVING coalesce(
            (SELECT c.settings -> 'summaries' FROM pgblend_data.collection AS c
                WHERE c.id = n.collection_id),
            (SELECT s.value FROM pgblend_data.setting AS s WHERE s.name = 'summaries'),
            'false')::boolean;
    ELSIF coalesce(
        (SELECT c.settings -> 'summaries' FROM pgblend_data.collection AS c
            WHERE c.id = NEW.collection_id),
        (SELECT s.value FROM pgblend_data.setting AS s WHERE s.name = 'summaries'),
        'false')::boolean
    THEN
        PERFORM pgblend._want_summaries(ARRAY[NEW.id], true);
    ELSE
        DELETE FROM pgblend_data.document_summary AS m WHERE m.document_id = NEW.id;
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER document_50_want_summary AFTER INSERT ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_want_summary();
CREATE OR REPLACE TRIGGER document_50_want_other_summary AFTER UPDATE ON pgblend_data.document
FOR EACH ROW WHEN (new.content_hash <> old.content_hash)
EXECUTE FUNCTION pgblend._document_want_summary();

-- _want_summaries: queue documents without a summary for one.
-- Messages speak for themselves: exports of them and mails get none. With is_new, documents that
-- have one wait for another, since their text is another.
CREATE OR REPLACE FUNCTION pgblend._want_summaries(document_ids bigint[], is_new boolean)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.document_summary AS m (document_id, collection_id, bucket)
    SELECT d.id, d.collection_id, d.bucket
    FROM pgblend_data.document AS d
    WHERE d.id = ANY(document_ids)
        AND coalesce(d.media_type, '') <> ALL('{application/x-slack-export, application/x-linear,
            application/mbox, message/rfc822, application/vnd.ms-outlook}')
    ON CONFLICT ON CONSTRAINT document_summary_pkey DO UPDATE
    SET summary = NULL, key = NULL, made_by = NULL, outdated = false, failures = 0,
        reason = NULL, made_at = NULL
    WHERE is_new;
END;
$function$;
