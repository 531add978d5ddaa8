-- _store_staged: store the documents of the temporary tables document_stage and chunk_stage; a row
-- for each, by its place, with its status and how many chunks it has.
-- The client fills them by COPY (cli/documents/document_writer.py). A document with an
-- expected_hash gets its chunks beside those that it has (appended, or unchanged without new ones).
-- Where its content hash is another by now, somebody else appended: an error, as is an unknown one.
CREATE OR REPLACE FUNCTION pgblend._store_staged(collection text)
RETURNS TABLE (place integer, document_id bigint, status text, chunk_count integer)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._named_collection(collection);
    staged record;
BEGIN
    PERFORM pgblend._place_documents(
        target, array_agg(s.source_key), array_agg(s.readers))
    FROM pg_temp.document_stage AS s
    WHERE s.expected_hash IS NOT NULL AND s.readers IS NOT NULL
    HAVING count(*) > 0;
    SELECT array_agg(s.place ORDER BY s.place) AS places,
        array_agg(pgblend._document_row(
            target, s.source_key, NULL, s.title, s.uri, s.metadata, s.language,
            s.content_hash, s.media_type, s.modified_at) ORDER BY s.place) AS documents,
        array_agg(s.links ORDER BY s.place) AS links,
        array_agg(s.readers ORDER BY s.place) AS readers
    INTO staged
    FROM pg_temp.document_stage AS s
    WHERE s.expected_hash IS NULL;
    RETURN QUERY
    SELECT staged.places[n.place], n.document_id, n.status, n.chunk_count
    FROM pgblend._store_at_home(
        target, staged.documents, NULL, pgblend._staged_chunks(staged.places), staged.links,
        CASE WHEN num_nonnulls(VARIADIC staged.readers) > 0 THEN staged.readers END) AS n;
    FOR staged IN
        SELECT s.* FROM pg_temp.document_stage AS s
        WHERE s.expected_hash IS NOT NULL
        ORDER BY s.source_key COLLATE "C"
    LOOP
        UPDATE pgblend_data.document AS d
        SET content_hash = staged.content_hash,
            modified_at = staged.modified_at,
            ingested_at = now()
        WHERE d.id = (
            SELECT u.id FROM pgblend._documents_under(target.id, staged.source_key) AS u)
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

-- _store_at_home: _store_documents, for a collection of which some documents may have readers of
-- their own: each of these stays in its compartment.
-- readers is as _place_documents takes it; NULL: nobody says so. A new document with readers is
-- never seen by others.
CREATE OR REPLACE FUNCTION pgblend._store_at_home(
    target pgblend_data.collection,
    documents pgblend_data.document[],
    contents text[],
    chunks pgblend_data.given_chunk[],
    links jsonb[],
    readers jsonb[]
)
RETURNS TABLE (place bigint, document_id bigint, status text, chunk_count integer)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    places bigint[];
BEGIN
    IF readers IS NULL
        AND NOT EXISTS (SELECT FROM pgblend_data.collection AS c WHERE c.parent_id = target.id)
    THEN
        RETURN QUERY SELECT s.* FROM pgblend._store_documents(
            target, documents, contents, chunks, links) AS s;
        RETURN;
    END IF;
    IF readers IS NOT NULL THEN
        places := pgblend._place_documents(
            target, ARRAY(
                SELECT g.source_key FROM unnest(documents) WITH ORDINALITY AS g
                ORDER BY g.ordinality),
            readers);
    END IF;
    PERFORM pgblend._lock_compartments(target.id, false);
    RETURN QUERY
    SELECT s.* FROM pgblend._store_placed(target, documents, contents, chunks, links, places) AS s;
END;
$function$;

-- _store_placed: _store_documents, each in the compartment that places has for it, or NULL: in that
-- where it is, or else the collection.
-- Where there are compartments, they are locked before (_lock_compartments).
CREATE OR REPLACE FUNCTION pgblend._store_placed(
    target pgblend_data.collection,
    documents pgblend_data.document[],
    contents text[],
    chunks pgblend_data.given_chunk[],
    links jsonb[],
    places bigint[]
)
RETURNS TABLE (place bigint, document_id bigint, status text, chunk_count integer)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    home record;
    own pgblend_data.collection;
BEGIN
    FOR home IN
        SELECT
            coalesce(places[g.ordinality], d.collection_id, target.id) AS id,
            array_agg(g.ordinality ORDER BY g.ordinality) AS places
        FROM unnest(documents) WITH ORDINALITY AS g
        LEFT JOIN LATERAL pgblend._documents_under(target.id, g.source_key) AS d ON true
        GROUP BY 1
        ORDER BY 1
    LOOP
        SELECT c.* INTO STRICT own FROM pgblend_data.collection AS c WHERE c.id = home.id;
        RETURN QUERY
        SELECT home.places[s.place], s.document_id, s.status, s.chunk_count
        FROM pgblend._store_documents(
            own,
            ARRAY(
                SELECT pgblend._placed_document(documents[p.place], home.id)
                FROM unnest(home.places) WITH ORDINALITY AS p (place, number) ORDER BY p.number),
            CASE WHEN contents IS NOT NULL THEN ARRAY(
                SELECT contents[p.place]
                FROM unnest(home.places) WITH ORDINALITY AS p (place, number) ORDER BY p.number)
            END,
            ARRAY(
                SELECT ROW(
                    p.number, g.content, g.heading, g.kind, g.own_start, g.start_offset,
                    g.end_offset, g.start_line, g.end_line, g.pages, g.token_count,
                    g.piece_tokens, g.metadata, g.context,
                    g.own_headings)::pgblend_data.given_chunk
                FROM unnest(chunks) WITH ORDINALITY AS g
                INNER JOIN unnest(home.places) WITH ORDINALITY AS p (place, number)
                    ON g.document = p.place
                ORDER BY g.ordinality),
            CASE WHEN links IS NOT NULL THEN ARRAY(
                SELECT links[p.place]
                FROM unnest(home.places) WITH ORDINALITY AS p (place, number) ORDER BY p.number)
            END) AS s;
    END LOOP;
END;
$function$;

-- _placed_document: a document as it is in another compartment.
CREATE OR REPLACE FUNCTION pgblend._placed_document(
    moved pgblend_data.document,
    collection_id bigint
)
RETURNS pgblend_data.document
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    moved.collection_id := _placed_document.collection_id;
    moved.bucket := pgblend._bucket(moved.collection_id, moved.source_key);
    RETURN moved;
END;
$function$;

-- _store_documents: store documents of one collection, each with its chunks and links; one row for
-- each, by its place from 1, with its status and how many chunks it has.
-- documents are of _document_row, and a source key comes once; contents and links are NULL or have
-- one for each. A text among contents is split; the `document` of a chunk is its document's place.
-- Where neither text nor title nor language changed, the chunks stay; else the vectors of the first
-- thousand whose text comes again. What set_metadata set stays over the metadata of documents.
-- links replace those that the text had; NULL leaves an unchanged document's alone.
-- Rows are taken in the order of their keys, so that sessions wait for each other and never in a
-- circle.
CREATE OR REPLACE FUNCTION pgblend._store_documents(
    target pgblend_data.collection,
    documents pgblend_data.document[],
    contents text[],
    chunks pgblend_data.given_chunk[],
    links jsonb[]
)
RETURNS TABLE (place bigint, document_id bigint, status text, chunk_count integer)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    added bigint[];
    ids bigint[];
    statuses text[];
    new_text bigint[];
    sizes jsonb;
    vectors jsonb;
    written integer;
BEGIN
    WITH new AS (
        INSERT INTO pgblend_data.document (
            collection_id, bucket, source_key, uri, title, text_search_config, media_type,
            metadata, content_hash, modified_at)
        SELECT
            d.collection_id, d.bucket, d.source_key, d.uri, d.title, d.text_search_config,
            d.media_type, d.metadata, d.content_hash, d.modified_at
        FROM unnest(documents) AS d
        ORDER BY d.source_key COLLATE "C"
        ON CONFLICT ON CONSTRAINT document_collection_id_source_key_key
        DO UPDATE SET bucket = excluded.bucket WHERE false  -- locks the row, changes nothing
        RETURNING id
    )
    SELECT coalesce(array_agg(n.id), '{}') INTO added FROM new AS n;
    SELECT array_agg(f.id ORDER BY f.place), array_agg(f.status ORDER BY f.place),
        array_agg(CASE WHEN f.status IN ('added', 'replaced') THEN f.id END ORDER BY f.place)
    INTO ids, statuses, new_text
    FROM (
        SELECT g.ordinality AS place, d.id, CASE
            WHEN d.id IN (SELECT n.id FROM unnest(added) AS n (id)) THEN 'added'  -- by a hash
            WHEN d.content_hash <> g.content_hash OR d.title <> g.title
                OR d.text_search_config <> g.text_search_config
                THEN 'replaced'
            WHEN (d.uri, d.metadata, coalesce(d.source_metadata, g.metadata), d.media_type,
                    d.modified_at)
                IS DISTINCT FROM
                (g.uri, pgblend._followed_metadata(
                    d.metadata, d.set_metadata, d.source_metadata, g.metadata), g.metadata,
                    g.media_type, g.modified_at)
                THEN 'updated'
            ELSE 'unchanged' END AS status
        FROM unnest(documents) WITH ORDINALITY AS g
        INNER JOIN pgblend_data.document AS d
            ON d.collection_id = target.id AND d.source_key = g.source_key
    ) AS f;
    IF 'replaced' = ANY(statuses) THEN
        vectors := pgblend._kept_vectors(ARRAY(
            SELECT s.id FROM unnest(ids, statuses) AS s (id, status)
            WHERE s.status = 'replaced'), 1000);
    END IF;
    IF statuses && '{updated,replaced}' THEN
        DELETE FROM pgblend_data.chunk AS c
        USING unnest(ids, statuses) AS s (id, status)
        WHERE c.document_id = s.id AND s.status = 'replaced';
        UPDATE pgblend_data.document AS d
        SET uri = g.uri, title = g.title, text_search_config = g.text_search_config,
            media_type = g.media_type,
            metadata = pgblend._followed_metadata(
                d.metadata, d.set_metadata, d.source_metadata, g.metadata),
            source_metadata = CASE WHEN d.source_metadata IS NOT NULL THEN g.metadata END,
            content_hash = g.content_hash, modified_at = g.modified_at, ingested_at = now()
        FROM unnest(documents) WITH ORDINALITY AS g
        WHERE d.id = ids[g.ordinality] AND statuses[g.ordinality] IN ('updated', 'replaced');
    END IF;
    IF contents IS NOT NULL AND statuses && '{added,replaced}' THEN
        sizes := pgblend._collection_settings(target.settings);
        PERFORM pgblend._check_chunk_sizes(sizes);
        chunks := chunks || ARRAY(
            SELECT s
            FROM unnest(contents, new_text) WITH ORDINALITY AS n (content, id, place)
            CROSS JOIN LATERAL pgblend._split_content(n.place::integer, n.content, sizes) AS s
            WHERE n.id IS NOT NULL);
    END IF;
    IF 'replaced' = ANY(statuses) OR NOT pgblend._is_answered() THEN
        PERFORM pgblend._split_later(target, new_text, contents, chunks);
    END IF;
    IF cardinality(chunks) > 0 AND statuses && '{added,replaced}' THEN
        written := pgblend._insert_chunks(new_text, chunks, 0);
        PERFORM pgblend._give_vectors(vectors, NULL);
    END IF;
    IF links IS NOT NULL OR 'replaced' = ANY(statuses) THEN
        PERFORM pgblend._replace_links(array_agg(l.id), array_agg(coalesce(l.links, '[]')))
        FROM unnest(ids, statuses, _store_documents.links) AS l (id, status, links)
        WHERE CASE l.status WHEN 'added' THEN l.links <> '[]'
            WHEN 'replaced' THEN true ELSE l.links IS NOT NULL END
        HAVING count(*) > 0;
    END IF;
    RETURN QUERY
    SELECT s.place, s.id, s.status, (
        SELECT count(*)::integer FROM pgblend_data.chunk AS c WHERE c.document_id = s.id)
    FROM unnest(ids, statuses) WITH ORDINALITY AS s (id, status, place);
END;
$function$;

-- _split_later: have texts split by pgblend worker whose first split is not the program's own.
-- Such chunks have no count of tokens (sql/stand_ins.plpgsql). What was noted of texts that these
-- replace is forgotten.
CREATE OR REPLACE FUNCTION pgblend._split_later(
    target pgblend_data.collection,
    document_ids bigint[],
    contents text[],
    chunks pgblend_data.given_chunk[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    UPDATE pgblend_data.unsettled AS u SET content = NULL
    WHERE u.document_id = ANY(document_ids) AND u.content IS NOT NULL;
    INSERT INTO pgblend_data.unsettled AS u (document_id, collection_id, content)
    SELECT t.id, target.id, t.content
    FROM unnest(document_ids, contents) WITH ORDINALITY AS t (id, content, place)
    WHERE t.id IS NOT NULL AND t.content IS NOT NULL
        AND t.place IN (SELECT c.document FROM unnest(chunks) AS c WHERE c.token_count IS NULL)
    ON CONFLICT ON CONSTRAINT unsettled_pkey DO UPDATE SET content = excluded.content;
END;
$function$;

-- _split_content: split a text into chunks, with approximate token counts; no rows for blank text.
-- `document` is put into each of them. `settings` has chunk_size_tokens, chunk_overlap_tokens and
-- min_chunk_size_tokens.
CREATE OR REPLACE FUNCTION pgblend._split_content(document integer, content text, settings jsonb)
RETURNS SETOF pgblend_data.given_chunk
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
ROWS 10
AS $python$
import json
from pgblend.plpy.lexical.words import markdown_headings, marked
from pgblend.plpy.lexical.split_text import split_text
from pgblend.plpy.lexical.split_text import approximate_tokens

sizes = json.loads(settings)
chunks = split_text(
    content,
    approximate_tokens,
    sizes["chunk_size_tokens"],
    sizes["chunk_overlap_tokens"],
    sizes["min_chunk_size_tokens"],
)
unknown = dict.fromkeys(("heading", "kind", "pages", "piece_tokens", "metadata", "context"))
headings = markdown_headings(content)
for chunk in chunks:
    own_start = chunk["start_offset"] + chunk["own_start"]
    within = marked(headings, own_start, chunk["end_offset"])
    chunk |= unknown | {"document": document, "own_headings": within}
return chunks
$python$;

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

-- _insert_chunks: add chunks to documents, in the order given; returns how many.
-- Their texts lose control characters (_uncontrolled); offsets are those of the text that came.
-- A chunk's `document` is the place of its document among document_ids, from 1; those of a NULL, or
-- of a document that is not there, are left out. Each document's chunk_index begins at first_index.
-- Their lexemes are the trigger's (_chunk_index_text). Planned once a session: planning takes as
-- long as a short document.
CREATE OR REPLACE FUNCTION pgblend._insert_chunks(
    document_ids bigint[],
    chunks pgblend_data.given_chunk[],
    first_index integer
)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET client_min_messages = warning
SET enable_seqscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $function$
DECLARE
    added integer;
BEGIN
    WITH target AS MATERIALIZED (
        SELECT
            t.place, d.id, d.collection_id, d.bucket, d.text_search_config
        FROM unnest(document_ids) WITH ORDINALITY AS t (id, place)
        INNER JOIN pgblend_data.document AS d ON d.id = t.id
    ), new AS MATERIALIZED (  -- a stage of its own: what it needs stays in the processor's caches
        SELECT
            t.*, own.text, n.ordinality, n.kind, n.start_offset, n.end_offset, n.start_line,
            n.end_line, n.pages, n.piece_tokens,
            first_index - 1 + row_number() OVER chunks_before AS chunk_index,
            coalesce(n.token_count, pgblend._approximate_tokens(own.text)) AS tokens,
            pgblend._uncontrolled(n.heading) AS own_heading,
            pgblend._uncontrolled(n.context) AS own_context,
            coalesce(
                pgblend._uncontrolled(n.own_headings),
                CASE WHEN n.kind = 'code' THEN '' END) AS headings_within,
            coalesce(length(pgblend._uncontrolled(left(n.content, n.own_start))), 0) AS text_start,
            coalesce(pgblend._uncontrolled_json(n.metadata), '{}') AS metadata
        FROM unnest(chunks) WITH ORDINALITY AS n
        INNER JOIN target AS t ON t.place = n.document
        CROSS JOIN LATERAL (SELECT pgblend._uncontrolled(n.content) AS text OFFSET 0) AS own
        WINDOW chunks_before AS (PARTITION BY t.id ORDER BY n.ordinality)
    )
    INSERT INTO pgblend_data.chunk (
        document_id, chunk_index, collection_id, bucket, content, heading, kind, own_start,
        start_offset, end_offset, start_line, end_line, pages, token_count, piece_tokens, metadata,
        text_search_config, context, own_headings)
    SELECT
        n.id, n.chunk_index, n.collection_id, n.bucket, n.text, n.own_heading,
        coalesce(n.kind, 'doc'), n.text_start, n.start_offset, n.end_offset, n.start_line,
        n.end_line, n.pages, n.tokens, n.piece_tokens, n.metadata, n.text_search_config,
        n.own_context, n.headings_within
    FROM new AS n
    ORDER BY n.id, n.ordinality;
    GET DIAGNOSTICS added = ROW_COUNT;
    RETURN added;
END;
$function$;

-- _approximate_tokens: about how many cl100k_base tokens a text has; the server has no tokenizer.
CREATE OR REPLACE FUNCTION pgblend._approximate_tokens(content text)
RETURNS integer
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.split_text import approximate_tokens

return approximate_tokens(content)
$python$;

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
            p.number, s.content, s.heading, s.kind, s.own_start, s.start_offset, s.end_offset,
            s.start_line, s.end_line, s.pages, s.token_count, s.piece_tokens, s.metadata, s.context,
            s.own_headings)::pgblend_data.given_chunk
        FROM pg_temp.chunk_stage AS s
        INNER JOIN unnest(places) WITH ORDINALITY AS p (place, number) ON p.place = s.document
        ORDER BY s.number);
END;
$function$;

-- _store_token_counts: replace estimated token counts by counted ones; returns of how many chunks.
-- counts is an array of {chunk_id, token_count, piece_tokens}. Chunks that are gone, counted by
-- now, or locked by a delete are left out: nobody waits.
CREATE OR REPLACE FUNCTION pgblend._store_token_counts(counts jsonb)
RETURNS bigint
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    WITH counted AS (
        UPDATE pgblend_data.chunk AS c
        SET token_count = n.token_count, piece_tokens = n.piece_tokens
        FROM (
            SELECT
                o.id,
                j.token_count,
                j.piece_tokens
            FROM jsonb_to_recordset(counts) AS j (
                chunk_id bigint, token_count integer, piece_tokens smallint[]
            )
            INNER JOIN pgblend_data.chunk AS o ON j.chunk_id = o.id
            WHERE o.piece_tokens IS NULL
            ORDER BY o.id
            FOR NO KEY UPDATE OF o SKIP LOCKED
        ) AS n
        WHERE c.id = n.id
        RETURNING c.id
    )

    SELECT count(*) FROM counted;
END;

-- _document_count: how many documents a collection has that the caller may read; NULL: all have.
CREATE OR REPLACE FUNCTION pgblend._document_count(collection_id bigint)
RETURNS bigint
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN (
    SELECT count(*) FROM pgblend_data.document AS d
    WHERE _document_count.collection_id IS NULL OR d.collection_id = _document_count.collection_id
);
