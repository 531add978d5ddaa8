-- _unlike_rows: how many rows an attached table has, and documents its collection on all shards;
-- NULL where these are as many.
CREATE OR REPLACE FUNCTION pgblend._unlike_rows(attached pgblend_data.attached_table)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    rows bigint := (SELECT count(*) FROM pgblend._attached_rows(attached, 'keys', NULL, NULL));
    documents bigint := pgblend._document_count(attached.collection_id);
BEGIN
    IF rows <> documents THEN
        RETURN format('the table has %s rows, its collection %s documents', rows, documents);
    END IF;
    RETURN NULL;
END;
$function$;
