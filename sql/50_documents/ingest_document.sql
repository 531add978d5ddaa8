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
-- alone. What set_metadata set stays over the metadata given here. readers: who may read it, as
-- set_document_readers takes them; NULL leaves a stored document's as they are, and a new one is
-- for all who may read the collection.
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
    links jsonb DEFAULT NULL,
    readers text[] DEFAULT NULL
)
RETURNS TABLE (document_id bigint, status text, chunk_count integer)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
AS $function$
DECLARE
    target record := pgblend._named_collection(ingest_document.collection);
BEGIN
    SELECT s.document_id, s.status, s.chunk_count
    INTO ingest_document.document_id, ingest_document.status, ingest_document.chunk_count
    FROM pgblend._store_at_home(
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
        CASE WHEN ingest_document.links IS NOT NULL THEN ARRAY[ingest_document.links] END,
        CASE WHEN ingest_document.readers IS NOT NULL
            THEN ARRAY[to_jsonb(ingest_document.readers)] END) AS s;
    IF status IN ('added', 'replaced') AND num_nulls(content, chunks) = 2 THEN
        RAISE EXCEPTION 'chunks is NULL: expected an array of objects with "content"'
            USING ERRCODE = '22023', HINT = 'Leave chunks NULL to have the content split here.';
    END IF;
    RETURN NEXT;
END;
$function$;

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

-- _document_language: the text search configuration of a document for which none is named: that of
-- the language which its script tells, else the collection's.
-- A configuration that users made themselves is kept for all. NULL content is an empty text.
CREATE OR REPLACE FUNCTION pgblend._document_language(
    collection_config text,
    title text,
    content text
)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    words text := concat_ws(' ', title, left(content, 2400));
BEGIN
    IF octet_length(words) = char_length(words) THEN
        RETURN collection_config;
    END IF;
    RETURN coalesce((
        SELECT pgblend._script_language(words) FROM pg_ts_config AS c
        WHERE c.cfgname = collection_config
            AND c.cfgnamespace IN ('pg_catalog'::regnamespace, 'pgblend'::regnamespace)
        LIMIT 1), collection_config);
END;
$function$;

-- _script_language: the language that the script of a text tells, as its ISO 639-1 code: zh, ja,
-- ko, th, lo, km or my; NULL where it tells none. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._script_language(content text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.words import script_language

return script_language(content)
$python$;

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
