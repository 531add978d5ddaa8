-- ingest_document: store one document and its chunks in one call; idempotent.
-- The same content_hash and title (and language) leave the chunks alone: status 'unchanged', or
-- 'updated' where uri, metadata, media type or time differ. Otherwise the chunks are replaced:
-- 'added' or 'replaced'. NULL chunks are split here, with an approximate token count; NULL
-- content_hash is the sha256 of the content; NULL language means the collection's text search
-- configuration. chunks: an array of {content, own_start, start_offset, end_offset, start_line,
-- end_line, pages, heading, kind, token_count, piece_tokens, metadata}. links: what the text links
-- to, as add_links takes it; they replace those it had, and NULL leaves an unchanged document's
-- alone. What set_metadata set stays over the metadata given here.
CREATE OR REPLACE FUNCTION pgblend.ingest_document(
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
#variable_conflict use_column
DECLARE
    target pgblend_data.collection := pgblend._named_collection(ingest_document.collection);
    old pgblend_data.document;
    new pgblend_data.document;
    sizes jsonb;
BEGIN
    new := pgblend._document_row(
        target, ingest_document.source_key, ingest_document.content, ingest_document.title,
        ingest_document.uri, ingest_document.metadata, ingest_document.language,
        ingest_document.content_hash, ingest_document.media_type, ingest_document.modified_at);
    INSERT INTO pgblend_data.document (
        collection_id, bucket, source_key, uri, title, text_search_config, media_type, metadata,
        content_hash, modified_at)
    VALUES (
        new.collection_id, new.bucket, new.source_key, new.uri, new.title, new.text_search_config,
        new.media_type, new.metadata, new.content_hash, new.modified_at)
    ON CONFLICT ON CONSTRAINT document_collection_id_source_key_key
    DO UPDATE SET bucket = excluded.bucket WHERE false  -- locks the row, changes nothing
    RETURNING id INTO document_id;
    IF document_id IS NOT NULL THEN
        status := 'added';
    ELSE
        SELECT d.* INTO STRICT old FROM pgblend_data.document AS d
        WHERE d.collection_id = new.collection_id AND d.source_key = new.source_key;
        document_id := old.id;
        IF old.source_metadata IS NOT NULL THEN
            new.source_metadata := new.metadata;
        END IF;
        new.metadata := pgblend._followed_metadata(
            old.metadata, old.set_metadata, old.source_metadata, new.metadata);
        status := pgblend._document_change(old, new);
        IF status <> 'unchanged' THEN
            UPDATE pgblend_data.document AS d
            SET uri = new.uri, title = new.title, text_search_config = new.text_search_config,
                media_type = new.media_type, metadata = new.metadata,
                source_metadata = new.source_metadata,
                content_hash = new.content_hash, modified_at = new.modified_at, ingested_at = now()
            WHERE d.id = old.id;
        END IF;
    END IF;
    IF status IN ('added', 'replaced') THEN
        IF ingest_document.chunks IS NULL THEN
            sizes := pgblend._collection_settings(target.settings);
            PERFORM pgblend._check_chunk_sizes(sizes);
            ingest_document.chunks := pgblend._split_content(ingest_document.content, sizes);
        END IF;
        PERFORM pgblend._replace_chunks(document_id, ingest_document.chunks);
    END IF;
    IF ingest_document.links IS NOT NULL OR status = 'replaced' THEN
        PERFORM pgblend._replace_links(document_id, coalesce(ingest_document.links, '[]'));
    END IF;
    SELECT count(*) INTO chunk_count
    FROM pgblend_data.chunk AS c WHERE c.document_id = ingest_document.document_id;
    RETURN NEXT;
END;
$function$;

COMMENT ON FUNCTION pgblend.ingest_document(
    text, text, text, text, text, jsonb, text, jsonb, text, text, timestamptz, jsonb
) IS
'Store one document and its chunks in one call; idempotent. status: added, replaced, updated '
'(chunks kept) or unchanged. The text is findable at once; vectors follow (embedding_queue).';
