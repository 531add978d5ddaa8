-- _documents_called: the documents that a text means: way 1 is by id (or docid, as ask gives it), 2
-- by source key, 3 by URI.
CREATE OR REPLACE FUNCTION pgblend._documents_called(document text)
RETURNS TABLE (document_id bigint, collection_id bigint, way integer)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 1
AS $function$
BEGIN
    RETURN QUERY
    SELECT d.id, d.collection_id, 1
    FROM pgblend_data.document AS d
    WHERE d.id = CASE
        WHEN document ~ '^[0-9]{1,18}$' THEN document::bigint
        WHEN document ~ '^#[0-9a-f]{6,15}$'
            THEN ('x' || lpad(substr(document, 2), 16, '0'))::bit(64)::bigint
    END
    UNION ALL
    SELECT d.id, d.collection_id, 2
    FROM pgblend_data.document AS d
    WHERE d.source_key = document
    UNION ALL
    SELECT d.id, d.collection_id, 3
    FROM pgblend_data.document AS d
    WHERE d.uri = document;
END;
$function$;
