-- reset_metadata: forget what set_metadata set of a document; returns the metadata it has then.
-- It has the metadata of its source again. Metadata that was replaced as a whole stays until the
-- next ingest of the source. An unknown document is an error.
CREATE OR REPLACE FUNCTION blend.reset_metadata(document_id bigint)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    new_metadata jsonb;
BEGIN
    UPDATE pgblend_data.document AS d
    SET metadata = coalesce(d.source_metadata, d.metadata),
        set_metadata = NULL,
        source_metadata = NULL
    WHERE d.id = reset_metadata.document_id
    RETURNING d.metadata INTO new_metadata;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no document %', coalesce(reset_metadata.document_id::text, 'NULL')
            USING ERRCODE = '42704', HINT = 'SELECT document_id, source_key FROM blend.documents';
    END IF;
    RETURN new_metadata;
END;
$function$;
