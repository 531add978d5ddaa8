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
from pgblend.plpy.lexical.headings import markdown_headings, marked
from pgblend.plpy.lexical.split import split_text
from pgblend.plpy.lexical.split import approximate_tokens

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

-- _followed_metadata: a document's metadata once its source says `source`, under what was set by
-- hand.
-- The first three are the document's as it is; set_metadata NULL means that the source is followed.
CREATE OR REPLACE FUNCTION pgblend._followed_metadata(
    metadata jsonb,
    set_metadata jsonb,
    source_metadata jsonb,
    source jsonb
)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN set_metadata IS NULL THEN source
    WHEN source_metadata IS NULL THEN metadata
    ELSE pgblend._merged_metadata(source, set_metadata)
END;

-- _store_documents: store documents of one collection, each with its chunks and links; one row for
-- each, by its place from 1, with its status and how many chunks it has.
-- documents are of _document_row, and a source key comes once; contents and links are NULL or have
-- one for each. A text among contents is split; the `document` of a chunk is its document's place.
-- Where neither text nor title nor language changed, the chunks stay. What set_metadata set stays
-- over the metadata of documents. links replace those that the text had; NULL leaves an unchanged
-- document's alone.
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
            WHEN d.id = ANY(added) THEN 'added'
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
    IF cardinality(chunks) > 0 AND statuses && '{added,replaced}' THEN
        written := pgblend._insert_chunks(new_text, chunks, 0);
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
