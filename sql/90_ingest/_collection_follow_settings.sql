-- _collection_follow_settings: trigger that has vectors and summaries follow a collection's
-- settings.
CREATE OR REPLACE FUNCTION pgblend._collection_follow_settings()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    PERFORM pgblend._follow_settings(
        new.id, pgblend._collection_settings(old.settings),
        pgblend._collection_settings(new.settings));
    RETURN NULL;
END;
$function$;
