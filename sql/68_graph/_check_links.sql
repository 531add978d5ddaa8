-- _check_links: raise unless links is an array of links as add_links takes them.
CREATE OR REPLACE FUNCTION pgblend._check_links(links jsonb)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    wrong record;
BEGIN
    IF jsonb_typeof(links) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'links is %: expected an array of objects with "target"',
            coalesce(left(links::text, 200), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: [{"target": "other.md"}]';
    END IF;
    SELECT e.link, e.place, p.problem INTO wrong
    FROM jsonb_array_elements(links) WITH ORDINALITY AS e (link, place)
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN jsonb_typeof(e.link) <> 'object'
                OR jsonb_typeof(e.link -> 'target') IS DISTINCT FROM 'string'
                OR e.link ->> 'target' = ''
                THEN 'expected an object with a text "target"'
            WHEN coalesce(e.link ->> 'kind', 'key') NOT IN ('path', 'wiki', 'uri', 'key', 'name')
                THEN '"kind": expected one of path, wiki, uri, key, name'
            WHEN jsonb_typeof(coalesce(nullif(e.link -> 'type', 'null'), '"link"')) <> 'string'
                OR e.link ->> 'type' = '' OR octet_length(e.link ->> 'type') > 200
                THEN '"type": expected a text of 1 to 200 bytes'
            WHEN jsonb_typeof(coalesce(nullif(e.link -> 'weight', 'null'), '1')) <> 'number'
                OR (e.link ->> 'weight')::numeric NOT BETWEEN 0 AND 1000000
                THEN '"weight": expected a number from 0 to 1000000'
            WHEN jsonb_typeof(coalesce(nullif(e.link -> 'line', 'null'), '1')) <> 'number'
                OR (e.link ->> 'line')::numeric NOT BETWEEN 1 AND 2147483647
                OR e.link ->> 'line' LIKE '%.%'
                THEN '"line": expected a whole number from 1'
            WHEN jsonb_typeof(coalesce(nullif(e.link -> 'metadata', 'null'), '{}')) <> 'object'
                THEN '"metadata": expected an object'
        END AS problem
        OFFSET 0
    ) AS p
    WHERE p.problem IS NOT NULL
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'link % is %: %', wrong.place, left(wrong.link::text, 200), wrong.problem
            USING ERRCODE = '22023',
            HINT = 'For example: {"target": "other.md", "type": "cites", "weight": 2}';
    END IF;
END;
$function$;
