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
    before jsonb := pgblend._setting_defaults('collection');
    after jsonb := before;
BEGIN
    IF changed NOT IN ('embedding_prefix', 'summaries') THEN
        RETURN NULL;
    END IF;
    before := before || jsonb_build_object(
        changed, coalesce(old.value, before -> changed));
    after := after || jsonb_build_object(
        changed, coalesce(new.value, after -> changed));
    PERFORM pgblend._follow_settings(c.id, before, after)
    FROM pgblend_data.collection AS c WHERE NOT c.settings ? changed;
    RETURN NULL;
END;
$function$;
