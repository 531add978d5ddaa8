-- _read_chunks: chunks of one document as ingest_document takes them, typed; NULL for NULL.
-- Keys that are not there and JSON nulls are NULL, other keys are left alone. What is no array, and
-- a chunk that is wrong, is an error that names it.
CREATE OR REPLACE FUNCTION pgblend._read_chunks(chunks jsonb)
RETURNS pgblend_data.given_chunk[]
LANGUAGE plpgsql
STABLE PARALLEL SAFE
STRICT
AS $function$
DECLARE
    wrong record;
BEGIN
    IF jsonb_typeof(chunks) <> 'array' THEN
        RAISE EXCEPTION 'chunks is %: expected an array of objects with "content"',
            left(chunks::text, 200)
            USING ERRCODE = '22023', HINT = 'Leave chunks NULL to have the content split here.';
    END IF;
    SELECT e.place - 1 AS chunk_index, e.chunk, p.problem INTO wrong
    FROM jsonb_array_elements(chunks) WITH ORDINALITY AS e (chunk, place)
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN jsonb_typeof(e.chunk) <> 'object' THEN 'expected an object'
            WHEN jsonb_typeof(e.chunk -> 'content') IS DISTINCT FROM 'string'
                THEN '"content": expected a string'
            WHEN coalesce(e.chunk ->> 'kind', 'doc') NOT IN ('code', 'doc', 'signature', 'metadata')
                THEN '"kind": expected code, doc, signature or metadata'
            WHEN coalesce(jsonb_typeof(e.chunk -> 'metadata'), 'null') NOT IN ('object', 'null')
                THEN '"metadata": expected an object'
            WHEN coalesce(jsonb_typeof(e.chunk -> 'own_start'), 'null') NOT IN ('number', 'null')
                OR (nullif(e.chunk -> 'own_start', 'null'))::numeric
                    NOT BETWEEN 0 AND length(e.chunk ->> 'content')
                THEN '"own_start": expected a place in content, from 0'
            WHEN coalesce(jsonb_typeof(e.chunk -> 'piece_tokens'), 'null') NOT IN ('array', 'null')
                OR jsonb_path_exists(
                    e.chunk, '$.piece_tokens[*] ? (@.type() != "number"
                        || !(@ >= 0 && @ <= 32767 && @.floor() == @))')
                THEN '"piece_tokens": expected an array of whole numbers from 0 to 32767'
        END AS problem
        OFFSET 0
    ) AS p
    WHERE p.problem IS NOT NULL
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'chunk % is %: %',
            wrong.chunk_index, left(wrong.chunk::text, 200), wrong.problem
            USING ERRCODE = '22023', HINT = 'Chunks are counted from 0.';
    END IF;
    RETURN ARRAY(
        SELECT jsonb_populate_record(NULL::pgblend_data.given_chunk, e.chunk || '{"document": 1}')
        FROM jsonb_array_elements(chunks) WITH ORDINALITY AS e (chunk, place)
        ORDER BY e.place);
END;
$function$;

-- ingest_document: store one document and its chunks in one call; idempotent.
-- The same content_hash and title (and language) leave the chunks alone: status 'unchanged', or
-- 'updated' where uri, metadata, media type or time differ. Otherwise the chunks are replaced:
-- 'added' or 'replaced'. NULL chunks are split here, with an approximate token count; NULL
-- content_hash is the sha256 of the content. language is a text search configuration; NULL means
-- that of the text's script (zh, ja, ko, th, lo, km, my), else the collection's. chunks: an array
-- of {content, own_start, start_offset, end_offset, start_line, end_line, pages, heading, kind,
-- token_count, piece_tokens, metadata, context, own_headings}; context is what a table's rows are
-- to be read with, own_headings the headings in a chunk's own text (a line each: ## and its words),
-- which are those that Markdown marks there where they are left out. links: what the text links
-- to, as add_links takes it; they replace those it had, and NULL leaves an unchanged document's
-- alone. What set_metadata set stays over the metadata given here.
-- The text is findable at once; vectors follow (embedding_queue).
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
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._named_collection(ingest_document.collection);
BEGIN
    SELECT s.document_id, s.status, s.chunk_count
    INTO ingest_document.document_id, ingest_document.status, ingest_document.chunk_count
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
        CASE WHEN ingest_document.chunks IS NULL THEN ARRAY[ingest_document.content] END,
        pgblend._read_chunks(ingest_document.chunks),
        CASE WHEN ingest_document.links IS NOT NULL THEN ARRAY[ingest_document.links] END) AS s;
    IF status IN ('added', 'replaced') AND num_nulls(content, chunks) = 2 THEN
        RAISE EXCEPTION 'chunks is NULL: expected an array of objects with "content"'
            USING ERRCODE = '22023', HINT = 'Leave chunks NULL to have the content split here.';
    END IF;
    RETURN NEXT;
END;
$function$;
