-- resolve_links: find anew what all links of a collection mean; returns how many changed.
-- A link is resolved when it is stored, and when its target is. Two sessions that store both at the
-- same time do not see each other. pgblend ingest calls this at its end.
CREATE OR REPLACE FUNCTION blend.resolve_links(collection text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN pgblend._resolve_links((pgblend._writable_collection(collection)).id, NULL);
END;
$function$;
