-- _append_document: add chunks of new messages to a document; returns its id and how many.
-- expected_hash is the content hash that the caller saw: where the document has another by now,
-- somebody else appended meanwhile, which is an error, as an unknown document is. No chunk goes.
CREATE OR REPLACE FUNCTION pgblend._append_document(
    collection text,
    source_key text,
    expected_hash text,
    content_hash text,
    modified_at timestamptz,
    chunks jsonb,
    OUT document_id bigint,
    OUT added integer
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._named_collection(_append_document.collection);
BEGIN
    UPDATE pgblend_data.document AS d
    SET content_hash = _append_document.content_hash,
        modified_at = greatest(d.modified_at, _append_document.modified_at),
        ingested_at = now()
    WHERE d.collection_id = target.id
        AND d.source_key = _append_document.source_key
        AND d.content_hash = expected_hash
    RETURNING d.id INTO document_id;
    IF document_id IS NULL THEN
        RAISE EXCEPTION 'document "%" was changed or deleted meanwhile',
            left(_append_document.source_key, 200)
            USING ERRCODE = '40001', HINT = 'Run it again.';
    END IF;
    added := pgblend._append_chunks(document_id, _append_document.chunks);
END;
$function$;
