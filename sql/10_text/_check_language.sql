-- _check_language: trigger that refuses a text search configuration that does not exist.
CREATE OR REPLACE FUNCTION pgblend._check_language()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    PERFORM pgblend._check_text_search_config(NEW.text_search_config);
    RETURN NEW;
END;
$function$;
