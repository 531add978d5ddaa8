-- _searched_collections: ids of the collections to search: those named, or all that the caller may
-- read.
-- A name that is not there, or that the caller may not read, is an error (the two cannot be told
-- apart).
CREATE OR REPLACE FUNCTION pgblend._searched_collections(collections text[])
RETURNS bigint[]
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    ids bigint[];
    missing text;
BEGIN
    PERFORM pgblend._check_size('collections', cardinality(collections), 'items', 'array_items');
    SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}') INTO ids
    FROM pgblend_data.collection AS c
    WHERE collections IS NULL OR c.name = ANY(collections);
    SELECT wanted INTO missing
    FROM unnest(collections) AS wanted
    WHERE NOT EXISTS (SELECT FROM pgblend_data.collection AS c WHERE c.name = wanted)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'there is no collection "%" that % may read',
            coalesce(left(missing, 200), 'NULL'), current_user
            USING ERRCODE = '42704', HINT = 'SELECT name FROM blend.collections';
    END IF;
    RETURN ids;
END;
$function$;
