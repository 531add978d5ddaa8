-- chunk_embeddings: the stored vectors of chunks, in an embedding space; NULL is the active one.
-- A chunk without a vector, or that the caller may not see, gives no row; NULL and a database
-- without a space give none. A space that is not there is an error.
CREATE OR REPLACE FUNCTION blend.chunk_embeddings(
    chunk_ids bigint[],
    space text DEFAULT NULL
)
RETURNS TABLE (chunk_id bigint, embedding vector)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 50
AS $function$
DECLARE
    target record;
BEGIN
    PERFORM pgblend._check_size('chunk_ids', cardinality(chunk_ids), 'items', 'array_items');
    SELECT s.* INTO target FROM pgblend_data.embedding_space AS s
    WHERE CASE WHEN space IS NULL THEN s.active ELSE s.name = space END;
    IF NOT FOUND AND space IS NOT NULL THEN
        RAISE EXCEPTION 'there is no embedding space "%"', left(space, 200)
            USING ERRCODE = '22023', HINT = 'SELECT name FROM blend.embedding_spaces';
    ELSIF NOT FOUND THEN
        RETURN;
    END IF;
    -- Calls in text: none (a space's table).
    RETURN QUERY EXECUTE format(
        'SELECT e.chunk_id, e.embedding::vector FROM pgblend_data.%I AS e
        WHERE e.chunk_id = ANY($1)', target.table_name)
    USING chunk_ids;
END;
$function$;

-- _chunks_around: chunks and those around them in their documents, in one query.
-- As many neighbours on either side as context_chars can reach: eight at most, since smaller chunks
-- than 300 characters are rare.
-- Chunks that are not there, or that the caller may not see, are left out.
CREATE OR REPLACE FUNCTION pgblend._chunks_around(chunk_ids bigint[], settings jsonb)
RETURNS json
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    reach integer := least(8, ceil(greatest(
        (settings #>> '{context_chars,before}')::numeric,
        (settings #>> '{context_chars,after}')::numeric) / 300));
BEGIN
    RETURN (
        SELECT coalesce(json_agg(p), '[]')
        FROM (
            SELECT
                c.id AS chunk_id,
                c.document_id,
                c.chunk_index,
                c.content,
                c.kind,
                c.own_start,
                c.start_offset,
                c.end_offset,
                c.start_line,
                c.end_line,
                c.pages,
                c.token_count,
                c.piece_tokens,
                c.context
            FROM (
                SELECT DISTINCT h.document_id, h.chunk_index + step AS chunk_index
                FROM pgblend_data.chunk AS h
                CROSS JOIN generate_series(-reach, reach) AS step
                WHERE h.id = ANY(chunk_ids)
            ) AS place
            INNER JOIN pgblend_data.chunk AS c
                ON (c.document_id, c.chunk_index) = (place.document_id, place.chunk_index)
            ORDER BY c.document_id, c.chunk_index
        ) AS p
    );
END;
$function$;

-- _passage_ages: the ages of passages in days at a time, in the order given.
-- A passage's date is the filter field $date: the date that its own metadata key "date" gives (a
-- message's time), else its document's modified_at, else that of the document's key, else
-- ingested_at. An age below 0 is a date to come. NULL for a passage that is not there or that the
-- caller may not see.
CREATE OR REPLACE FUNCTION pgblend._passage_ages(
    chunk_ids bigint[],
    at_time timestamptz DEFAULT now()
)
RETURNS double precision[]
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT array_agg(
        extract(EPOCH FROM at_time - coalesce(
            pgblend._iso_timestamp(c.metadata ->> 'date'),
            d.modified_at,
            pgblend._iso_timestamp(d.metadata ->> 'date'),
            d.ingested_at
        ))::double precision / 86400
        ORDER BY u.place
    )
    FROM unnest(chunk_ids) WITH ORDINALITY AS u (chunk_id, place)
    LEFT JOIN pgblend_data.chunk AS c ON u.chunk_id = c.id
    LEFT JOIN pgblend_data.document AS d ON c.document_id = d.id;
END;

-- _document_facts: what is said of a document: its names, collection, language and passages.
-- No row where there is none that the caller may read.
CREATE OR REPLACE FUNCTION pgblend._document_facts(document_id bigint)
RETURNS TABLE (
    id bigint,
    source_key text,
    uri text,
    title text,
    collection text,
    language text,
    passages bigint
)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 1
BEGIN ATOMIC
    SELECT
        d.id,
        d.source_key,
        d.uri,
        d.title,
        c.name,
        d.text_search_config,
        (
            SELECT count(*) FROM pgblend_data.chunk AS h
            WHERE h.document_id = d.id
        ) AS passages
    FROM pgblend_data.document AS d
    INNER JOIN pgblend_data.collection AS c ON d.collection_id = c.id
    WHERE d.id = _document_facts.document_id;
END;

-- _documents_read: about how many documents are read to find those that pass a filter: all, or 0
-- where an index finds them. on_document and alternatives are those of _filter_condition. Our
-- indexes are on some columns and on the values that metadata contain; an owner's own may be on
-- expressions.
CREATE OR REPLACE FUNCTION pgblend._documents_read(on_document text, alternatives jsonb[])
RETURNS real
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN CASE
    WHEN alternatives IS NOT NULL
        OR on_document
        ~ E'\\md\\.(collection_id|id|modified_at|source_key|text_search_config|uri)\\M'
        OR EXISTS (
            SELECT FROM pg_catalog.pg_index AS i
            WHERE i.indrelid = 'pgblend_data.document'::regclass AND i.indexprs IS NOT NULL)
        THEN 0
    ELSE (
        SELECT greatest(c.reltuples, 0) FROM pg_catalog.pg_class AS c
        WHERE c.oid = 'pgblend_data.document'::regclass)
END;
