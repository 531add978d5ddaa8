-- _apply_batch: what _apply_changes does with some keys, which are in order; returns how many
-- documents changed.
-- source is the query of _attachment_sql. Metadata, URI and date alone change no chunk.
CREATE OR REPLACE FUNCTION pgblend._apply_batch(
    attached pgblend_data.attached_table,
    source text,
    keys text[]
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    target pgblend_data.collection;
    found record;
    outcome record;
BEGIN
    EXECUTE source INTO found USING keys;
    SELECT c.* INTO STRICT target FROM pgblend_data.collection AS c
    WHERE c.id = attached.collection_id;
    WITH stored AS MATERIALIZED (
        SELECT d.*
        FROM pgblend_data.document AS d
        WHERE d.collection_id = target.id AND d.source_key = ANY(keys)
        ORDER BY d.source_key COLLATE "C"
        FOR UPDATE
    ), gone AS (
        DELETE FROM pgblend_data.document AS d
        USING stored AS s
        WHERE d.id = s.id AND s.source_key <> ALL(coalesce(found.keys, '{}'))
        RETURNING d.id
    ), fresh AS (
        SELECT f.source_key, f.title, f.content, f.uri, f.modified_at,
            CASE WHEN s.set_metadata IS NULL THEN f.metadata
                ELSE pgblend._followed_metadata(
                    s.metadata, s.set_metadata, s.source_metadata, f.metadata) END AS metadata,
            CASE WHEN s.source_metadata IS NOT NULL THEN f.metadata END AS source_metadata,
            encode(sha256(convert_to(f.content, 'UTF8')), 'hex') AS content_hash
        FROM unnest(
            found.keys, found.titles, found.contents, found.metadata, found.uris, found.modified_at
        ) AS f (source_key, title, content, metadata, uri, modified_at)
        LEFT JOIN stored AS s ON s.source_key = f.source_key
    ), written AS (
        INSERT INTO pgblend_data.document (
            collection_id, bucket, source_key, uri, title, text_search_config, metadata,
            source_metadata, content_hash, modified_at)
        SELECT
            target.id, pgblend._bucket(target.id, f.source_key), f.source_key, f.uri, f.title,
            target.text_search_config, f.metadata, f.source_metadata, f.content_hash, f.modified_at
        FROM fresh AS f
        LEFT JOIN stored AS s ON s.source_key = f.source_key
        WHERE s.id IS NULL
            OR (s.uri, s.title, s.text_search_config, s.metadata, s.source_metadata,
                    s.content_hash, s.modified_at)
                IS DISTINCT FROM (f.uri, f.title, target.text_search_config, f.metadata,
                    f.source_metadata, f.content_hash, f.modified_at)
        ORDER BY f.source_key COLLATE "C"
        ON CONFLICT ON CONSTRAINT document_collection_id_source_key_key DO UPDATE
        SET uri = excluded.uri, title = excluded.title,
            text_search_config = excluded.text_search_config, metadata = excluded.metadata,
            source_metadata = excluded.source_metadata,
            content_hash = excluded.content_hash, modified_at = excluded.modified_at,
            ingested_at = now()
        RETURNING id, source_key
    )
    SELECT
        (SELECT count(*) FROM gone AS g) + count(*) AS changed,
        array_agg(w.id ORDER BY w.id) FILTER (WHERE n.is_new) AS document_ids,
        array_agg(f.content ORDER BY w.id) FILTER (WHERE n.is_new) AS contents
    INTO outcome
    FROM written AS w
    INNER JOIN fresh AS f ON f.source_key = w.source_key
    LEFT JOIN stored AS s ON s.source_key = w.source_key
    CROSS JOIN LATERAL (
        SELECT s.id IS NULL OR s.content_hash <> f.content_hash OR s.title <> f.title
            OR s.text_search_config <> target.text_search_config AS is_new
    ) AS n;
    IF outcome.document_ids IS NOT NULL THEN
        DELETE FROM pgblend_data.chunk AS c WHERE c.document_id = ANY(outcome.document_ids);
        PERFORM pgblend._insert_chunks(
            outcome.document_ids,
            pgblend._split_contents(
                outcome.contents, pgblend._collection_settings(target.settings)));
    END IF;
    IF found.keys IS NOT NULL THEN
        PERFORM pgblend._store_references(attached, found.keys, found.targets);
        PERFORM pgblend._link_references(attached, found.keys);
    END IF;
    RETURN outcome.changed;
END;
$function$;

COMMENT ON FUNCTION pgblend._apply_batch(pgblend_data.attached_table, text, text[]) IS
'What _apply_changes does with some keys, which are in order; returns how many documents changed.';
