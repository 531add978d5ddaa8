-- resolve_links: find anew what all links of a collection mean; returns how many changed.
-- Links are resolved when they and when their targets are stored; only where two sessions store
-- both at the same time does neither see the other. pgblend ingest calls this at its end.
CREATE OR REPLACE FUNCTION blend.resolve_links(collection text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN pgblend._resolve_links((pgblend._writable_collection(collection)).id, NULL);
END;
$function$;
