-- _unlike_rows: how many rows of an attached table have no document, and documents no row; NULL
-- where all agree.
CREATE OR REPLACE FUNCTION pgblend._unlike_rows(attached pgblend_data.attached_table)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    missing bigint;
    orphans bigint;
BEGIN
    SELECT count(*) FILTER (WHERE d.source_key IS NULL), count(*) FILTER (WHERE r.key IS NULL)
    INTO missing, orphans
    FROM pgblend._attached_rows(attached, 'keys', NULL, NULL) AS r
    FULL JOIN (
        SELECT e.source_key FROM pgblend_data.document AS e
        WHERE e.collection_id = attached.collection_id
    ) AS d ON d.source_key = r.key;
    IF missing + orphans > 0 THEN
        RETURN format('%s rows are not indexed, %s documents have no row', missing, orphans);
    END IF;
    RETURN NULL;
END;
$function$;
