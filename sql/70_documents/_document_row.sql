-- _document_row: the document that an ingest means, checked, without an id.
CREATE OR REPLACE FUNCTION pgblend._document_row(
    target pgblend_data.collection,
    source_key text,
    content text,
    title text,
    uri text,
    metadata jsonb,
    language text,
    content_hash text,
    media_type text,
    modified_at timestamptz
)
RETURNS pgblend_data.document
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    IF coalesce(source_key, '') = '' THEN
        RAISE EXCEPTION 'source_key is %: expected a text that names the document',
            coalesce(quote_literal(source_key), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example a path or a record''s id.';
    ELSIF octet_length(source_key) > 2000 THEN
        RAISE EXCEPTION 'source_key "%…" is % bytes long: expected at most 2000',
            left(source_key, 100), octet_length(source_key)
            USING ERRCODE = '22023', HINT = 'A hash of a long key will do.';
    ELSIF content IS NULL AND content_hash IS NULL THEN
        RAISE EXCEPTION 'document "%" has neither content nor content_hash', left(source_key, 200)
            USING ERRCODE = '22004', HINT = 'Give the text, or its chunks and a hash.';
    ELSIF jsonb_typeof(coalesce(metadata, '{}')) <> 'object' THEN
        RAISE EXCEPTION 'metadata of document "%" is %: expected a JSON object',
            left(source_key, 200), left(metadata::text, 200)
            USING ERRCODE = '22023', HINT = 'For example: {"author": "knuth"}';
    END IF;
    RETURN ROW(
        NULL, target.id, pgblend._bucket(target.id, source_key), source_key,
        pgblend._uncontrolled(uri), coalesce(pgblend._uncontrolled(title), ''),
        coalesce(language, target.text_search_config), media_type,
        coalesce(pgblend._uncontrolled_json(metadata), '{}'), NULL, NULL,
        coalesce(content_hash, encode(sha256(convert_to(content, 'UTF8')), 'hex')), modified_at,
        NULL)::pgblend_data.document;
END;
$function$;
