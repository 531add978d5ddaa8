-- _setting_follow: trigger that has vectors and summaries follow the settings of the database, in
-- the collections that have none of their own.
CREATE OR REPLACE FUNCTION pgblend._setting_follow()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
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
