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
    SELECT e.link, e.place, pgblend._link_error(e.link) AS problem INTO wrong
    FROM jsonb_array_elements(links) WITH ORDINALITY AS e (link, place)
    WHERE pgblend._link_error(e.link) IS NOT NULL
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'link % is %: %', wrong.place, left(wrong.link::text, 200), wrong.problem
            USING ERRCODE = '22023',
            HINT = 'For example: {"target": "other.md", "type": "cites", "weight": 2}';
    END IF;
END;
$function$;
