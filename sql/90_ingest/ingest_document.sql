-- ingest_document: store one document and its chunks in one call; idempotent.
-- The same content_hash and title (and language) leave the chunks alone: status 'unchanged', or
-- 'updated' where uri, metadata, media type or time differ. Otherwise the chunks are replaced:
-- 'added' or 'replaced'. NULL chunks are split here, with an approximate token count; NULL
-- content_hash is the sha256 of the content. language is a text search configuration; NULL means
-- that of the text's script (zh, ja, ko, th, lo, km, my), else the collection's. chunks: an array
-- of {content, own_start, start_offset, end_offset, start_line, end_line, pages, heading, kind,
-- token_count, piece_tokens, metadata}. links: what the text links to, as add_links takes it; they
-- replace those it had, and NULL leaves an unchanged document's alone. What set_metadata set stays
-- over the metadata given here. The text is findable at once; vectors follow (embedding_queue).
CREATE OR REPLACE FUNCTION blend.ingest_document(
    collection text,
    source_key text,
    content text,
    title text DEFAULT NULL,
    uri text DEFAULT NULL,
    metadata jsonb DEFAULT '{}',
    language text DEFAULT NULL,
    chunks jsonb DEFAULT NULL,
    content_hash text DEFAULT NULL,
    media_type text DEFAULT NULL,
    modified_at timestamptz DEFAULT NULL,
    links jsonb DEFAULT NULL
)
RETURNS TABLE (document_id bigint, status text, chunk_count integer)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
SET search_path FROM CURRENT
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._named_collection(ingest_document.collection);
BEGIN
    RETURN QUERY
    SELECT s.document_id, s.status, s.chunk_count
    FROM pgblend._store_documents(
        target,
        ARRAY[pgblend._document_row(
            target, ingest_document.source_key, ingest_document.content, ingest_document.title,
            ingest_document.uri, ingest_document.metadata,
            coalesce(ingest_document.language, pgblend._document_language(
                target.text_search_config, ingest_document.title,
                coalesce(nullif(ingest_document.content, ''), jsonb_path_query_array(
                    ingest_document.chunks, '$[*].content')::text))),
            ingest_document.content_hash, ingest_document.media_type, ingest_document.modified_at)],
        ARRAY[ingest_document.content],
        ARRAY[ingest_document.chunks],
        ARRAY[ingest_document.links]) AS s;
END;
$function$;
