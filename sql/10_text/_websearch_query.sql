-- _websearch_query: a query as websearch_to_tsquery reads it, asking the bodies of passages alone.
-- Words are those of _indexable_text, and have weight D: titles, headings and identifiers are not
-- looked at. NULL gives NULL; stop words alone give an empty query, without a NOTICE.
CREATE OR REPLACE FUNCTION pgblend._websearch_query(config_name text, query text)
RETURNS tsquery
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
STRICT
SET search_path FROM CURRENT
SET client_min_messages = warning
AS $function$
BEGIN
    RETURN regexp_replace(
        websearch_to_tsquery(
            pgblend._regconfig(config_name), pgblend._websearch_text(query))::text,
        '(''([^'']|'''')*'')', '\1:D', 'g')::tsquery;
END;
$function$;
