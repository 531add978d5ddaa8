-- _link_error: what is wrong with a link as it is given, NULL where nothing is.
CREATE OR REPLACE FUNCTION pgblend._link_error(link jsonb)
RETURNS text
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF jsonb_typeof(link) <> 'object' OR jsonb_typeof(link -> 'target') IS DISTINCT FROM 'string'
        OR link ->> 'target' = ''
    THEN
        RETURN 'expected an object with a text "target"';
    ELSIF coalesce(link ->> 'kind', 'key') NOT IN ('path', 'wiki', 'uri', 'key', 'name') THEN
        RETURN '"kind": expected one of path, wiki, uri, key, name';
    ELSIF jsonb_typeof(coalesce(nullif(link -> 'type', 'null'), '"link"')) <> 'string'
        OR link ->> 'type' = '' OR octet_length(link ->> 'type') > 200
    THEN
        RETURN '"type": expected a text of 1 to 200 bytes';
    ELSIF jsonb_typeof(coalesce(nullif(link -> 'weight', 'null'), '1')) <> 'number'
        OR (link ->> 'weight')::numeric NOT BETWEEN 0 AND 1000000
    THEN
        RETURN '"weight": expected a number from 0 to 1000000';
    ELSIF jsonb_typeof(coalesce(nullif(link -> 'line', 'null'), '1')) <> 'number'
        OR (link ->> 'line')::numeric NOT BETWEEN 1 AND 2147483647 OR link ->> 'line' LIKE '%.%'
    THEN
        RETURN '"line": expected a whole number from 1';
    ELSIF jsonb_typeof(coalesce(nullif(link -> 'metadata', 'null'), '{}')) <> 'object' THEN
        RETURN '"metadata": expected an object';
    END IF;
    RETURN NULL;
END;
$function$;
