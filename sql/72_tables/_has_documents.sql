-- _has_documents: whether a collection has documents that the caller may read.
CREATE OR REPLACE FUNCTION pgblend._has_documents(collection_id bigint)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    RETURN EXISTS (
        SELECT FROM pgblend_data.document AS d
        WHERE d.collection_id = _has_documents.collection_id);
END;
$function$;
