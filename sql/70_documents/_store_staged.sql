-- _staged_chunks: chunks of the temporary table chunk_stage, of the documents in some places.
-- The client fills it by COPY: the columns of given_chunk, and `number`, which orders them. The
-- `document` that is returned is the place among `places`, from 1.
CREATE OR REPLACE FUNCTION pgblend._staged_chunks(places integer[])
RETURNS pgblend_data.given_chunk[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN ARRAY(
        SELECT ROW(
            array_position(places, s.document), s.content, s.heading, s.kind, s.own_start,
            s.start_offset, s.end_offset, s.start_line, s.end_line, s.pages, s.token_count,
            s.piece_tokens, s.metadata, s.context,
            s.own_headings)::pgblend_data.given_chunk
        FROM pg_temp.chunk_stage AS s
        WHERE s.document = ANY(places)
        ORDER BY s.number);
END;
$function$;

-- _append_staged: add the staged chunks of a place (_staged_chunks) to those that a document has;
-- returns how many.
-- chunk_index continues after the highest.
CREATE OR REPLACE FUNCTION pgblend._append_staged(document_id bigint, place integer)
RETURNS integer
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
RETURN pgblend._insert_chunks(
    ARRAY[document_id], pgblend._staged_chunks(ARRAY[place]), (
        SELECT coalesce(max(c.chunk_index) + 1, 0) FROM pgblend_data.chunk AS c
        WHERE c.document_id = _append_staged.document_id
    )
);

-- _store_staged: store the documents of the temporary tables document_stage and chunk_stage; a row
-- for each, by its place, with its status and how many chunks it has.
-- The client fills them by COPY (cli/documents/store.py). A document with an expected_hash gets its
-- chunks beside those that it has (appended, or unchanged without new ones). Where it has another
-- content hash by now, somebody else appended meanwhile: that is an error, as an unknown document
-- is.
CREATE OR REPLACE FUNCTION pgblend._store_staged(collection text)
RETURNS TABLE (place integer, document_id bigint, status text, chunk_count integer)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._named_collection(collection);
    staged record;
BEGIN
    SELECT array_agg(s.place ORDER BY s.place) AS places,
        array_agg(pgblend._document_row(
            target, s.source_key, NULL, s.title, s.uri, s.metadata, s.language,
            s.content_hash, s.media_type, s.modified_at) ORDER BY s.place) AS documents,
        array_agg(s.links ORDER BY s.place) AS links
    INTO staged
    FROM pg_temp.document_stage AS s
    WHERE s.expected_hash IS NULL;
    RETURN QUERY
    SELECT staged.places[n.place], n.document_id, n.status, n.chunk_count
    FROM pgblend._store_documents(
        target, staged.documents, NULL, pgblend._staged_chunks(staged.places), staged.links) AS n;
    FOR staged IN
        SELECT s.* FROM pg_temp.document_stage AS s
        WHERE s.expected_hash IS NOT NULL
        ORDER BY s.source_key COLLATE "C"
    LOOP
        UPDATE pgblend_data.document AS d
        SET content_hash = staged.content_hash,
            modified_at = staged.modified_at,
            ingested_at = now()
        WHERE d.collection_id = target.id
            AND d.source_key = staged.source_key
            AND d.content_hash = staged.expected_hash
        RETURNING d.id INTO document_id;
        IF document_id IS NULL THEN
            RAISE EXCEPTION 'document "%" was changed or deleted meanwhile',
                left(staged.source_key, 200)
                USING ERRCODE = '40001', HINT = 'Run it again.';
        END IF;
        place := staged.place;
        chunk_count := pgblend._append_staged(document_id, place);
        status := CASE WHEN chunk_count > 0 THEN 'appended' ELSE 'unchanged' END;
        RETURN NEXT;
    END LOOP;
END;
$function$;
