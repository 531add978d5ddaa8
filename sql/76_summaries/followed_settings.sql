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
    INNER JOIN blend.setting_catalog() AS d ON d.name = changed
    WHERE NOT c.settings ? changed;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER setting_20_follow AFTER INSERT OR UPDATE OR DELETE ON pgblend_data.setting
FOR EACH ROW EXECUTE FUNCTION pgblend._setting_follow();
