-- delete_document: delete a document, its chunks and vectors; false where there is none.
CREATE OR REPLACE FUNCTION blend.delete_document(document_id bigint)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    DELETE FROM pgblend_data.document AS d WHERE d.id = delete_document.document_id;
    RETURN FOUND;
END;
$function$;

CREATE OR REPLACE FUNCTION blend.delete_document(collection text, source_key text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    DELETE FROM pgblend_data.document AS d
    WHERE d.collection_id = (pgblend._named_collection(delete_document.collection)).id
        AND d.source_key = delete_document.source_key;
    RETURN FOUND;
END;
$function$;
