-- _apply_batch: what _apply_changes does with some keys, which are in order; returns how many
-- documents changed.
-- Metadata, URI and date alone change no chunk.
CREATE OR REPLACE FUNCTION pgblend._apply_batch(
    attached pgblend_data.attached_table,
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
    changed bigint;
BEGIN
    SELECT array_agg(r.key) AS keys, array_agg(r.title) AS titles,
        array_agg(r.content) AS contents, array_agg(r.metadata) AS metadata,
        array_agg(r.uri) AS uris, array_agg(r.modified_at) AS modified_at,
        array_agg(r.targets) AS targets
    INTO found
    FROM pgblend._attached_rows(attached, 'rows', _apply_batch.keys, NULL) AS r;
    SELECT c.* INTO STRICT target FROM pgblend_data.collection AS c
    WHERE c.id = attached.collection_id;
    WITH stored AS MATERIALIZED (
        SELECT d.id, d.source_key
        FROM pgblend_data.document AS d
        WHERE d.collection_id = target.id AND d.source_key = ANY(keys)
        ORDER BY d.source_key COLLATE "C"
        FOR UPDATE
    ), gone AS (
        DELETE FROM pgblend_data.document AS d
        USING stored AS s
        WHERE d.id = s.id AND s.source_key <> ALL(coalesce(found.keys, '{}'))
        RETURNING d.id
    )
    SELECT count(*) INTO changed FROM gone AS g;
    IF found.keys IS NOT NULL THEN
        changed := changed + (
            SELECT count(*) FROM pgblend._store_documents(
                target,
                ARRAY(
                    SELECT ROW(
                        NULL, target.id, pgblend._bucket(target.id, f.source_key), f.source_key,
                        f.uri, f.title,
                        pgblend._document_language(target.text_search_config, f.title, f.content),
                        NULL, f.metadata, NULL, NULL,
                        encode(sha256(convert_to(f.content, 'UTF8')), 'hex'), f.modified_at,
                        NULL)::pgblend_data.document
                    FROM unnest(
                        found.keys, found.uris, found.titles, found.contents, found.metadata,
                        found.modified_at
                    ) WITH ORDINALITY AS f (
                        source_key, uri, title, content, metadata, modified_at, place)
                    ORDER BY f.place),
                found.contents,
                NULL,
                NULL) AS s
            WHERE s.status <> 'unchanged');
        PERFORM pgblend._store_references(attached, found.keys, found.targets);
        PERFORM pgblend._link_references(attached, found.keys);
    END IF;
    RETURN changed;
END;
$function$;
