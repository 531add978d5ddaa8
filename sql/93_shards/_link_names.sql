-- _link_names: the names that links of a collection on this shard have, each once.
CREATE OR REPLACE FUNCTION pgblend._link_names(collection text)
RETURNS SETOF text
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT DISTINCT l.name FROM pgblend_data.link AS l
    WHERE l.collection_id = (pgblend._named_collection(collection)).id;
END;
$function$;
