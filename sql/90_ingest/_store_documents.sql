-- _store_documents: store documents of one collection, each with its chunks and links; one row for
-- each, by its place from 1, with its status and how many chunks it has.
-- All arrays have the same length; documents are of _document_row, and a source key comes once.
-- NULL chunks are split from contents. Where neither text nor title nor language changed, the
-- chunks stay. What set_metadata set stays over the metadata of documents. links replace those that
-- the text had; NULL leaves an unchanged document's alone.
-- Rows are taken in the order of their keys, so that sessions wait for each other and never in a
-- circle.
CREATE OR REPLACE FUNCTION pgblend._store_documents(
    target pgblend_data.collection,
    documents pgblend_data.document[],
    contents text[],
    chunks jsonb[],
    links jsonb[]
)
RETURNS TABLE (place bigint, document_id bigint, status text, chunk_count integer)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    added bigint[];
    ids bigint[];
    statuses text[];
    sizes jsonb;
    texts record;
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
    WITH found AS MATERIALIZED (
        SELECT g.ordinality AS place, d.id, g.uri, g.title, g.text_search_config, g.media_type,
            f.metadata, f.source_metadata, g.content_hash, g.modified_at,
            CASE
                WHEN d.id = ANY(added) THEN 'added'
                WHEN d.content_hash <> g.content_hash OR d.title <> g.title
                    OR d.text_search_config <> g.text_search_config
                    THEN 'replaced'
                WHEN (d.uri, d.metadata, d.source_metadata, d.media_type, d.modified_at)
                    IS DISTINCT FROM
                    (g.uri, f.metadata, f.source_metadata, g.media_type, g.modified_at)
                    THEN 'updated'
                ELSE 'unchanged'
            END AS status
        FROM unnest(documents) WITH ORDINALITY AS g
        INNER JOIN pgblend_data.document AS d
            ON d.collection_id = target.id AND d.source_key = g.source_key
        CROSS JOIN LATERAL (
            SELECT
                CASE WHEN d.set_metadata IS NULL THEN g.metadata
                    ELSE pgblend._followed_metadata(
                        d.metadata, d.set_metadata, d.source_metadata, g.metadata) END AS metadata,
                CASE WHEN d.source_metadata IS NOT NULL THEN g.metadata END AS source_metadata
        ) AS f
    ), changed AS (
        UPDATE pgblend_data.document AS d
        SET uri = f.uri, title = f.title, text_search_config = f.text_search_config,
            media_type = f.media_type, metadata = f.metadata,
            source_metadata = f.source_metadata, content_hash = f.content_hash,
            modified_at = f.modified_at, ingested_at = now()
        FROM found AS f
        WHERE d.id = f.id AND f.status IN ('updated', 'replaced')
    )
    SELECT array_agg(f.id ORDER BY f.place), array_agg(f.status ORDER BY f.place)
    INTO ids, statuses
    FROM found AS f;
    IF 'replaced' = ANY(statuses) THEN
        DELETE FROM pgblend_data.chunk AS c
        USING unnest(ids, statuses) AS s (id, status)
        WHERE c.document_id = s.id AND s.status = 'replaced';
    END IF;
    IF EXISTS (
        SELECT FROM unnest(statuses, _store_documents.chunks) AS n (status, chunks)
        WHERE n.status IN ('added', 'replaced') AND n.chunks IS NULL)
    THEN
        sizes := pgblend._collection_settings(target.settings);
        PERFORM pgblend._check_chunk_sizes(sizes);
    END IF;
    SELECT
        array_agg(n.id ORDER BY n.id) AS ids,
        array_agg(coalesce(n.chunks, pgblend._split_content(n.content, sizes)) ORDER BY n.id)
            AS chunks
    INTO texts
    FROM unnest(ids, statuses, _store_documents.chunks, contents) AS n (id, status, chunks, content)
    WHERE n.status IN ('added', 'replaced');
    IF texts.ids IS NOT NULL THEN
        PERFORM pgblend._check_chunks(texts.chunks);
        PERFORM pgblend._insert_chunks(texts.ids, texts.chunks);
    END IF;
    PERFORM pgblend._replace_links(array_agg(l.id), array_agg(coalesce(l.links, '[]')))
    FROM unnest(ids, statuses, _store_documents.links) AS l (id, status, links)
    WHERE CASE l.status WHEN 'added' THEN l.links <> '[]'
        WHEN 'replaced' THEN true ELSE l.links IS NOT NULL END
    HAVING count(*) > 0;
    RETURN QUERY
    SELECT s.place, s.id, s.status, (
        SELECT count(*)::integer FROM pgblend_data.chunk AS c WHERE c.document_id = s.id)
    FROM unnest(ids, statuses) WITH ORDINALITY AS s (id, status, place);
END;
$function$;
