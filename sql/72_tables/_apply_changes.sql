-- _apply_changes: bring the documents of an attached table's rows up to date, by their keys.
-- Rows that are there are stored (split only where the text changed), documents of rows that are
-- gone deleted; returns how many documents changed. Keys are taken in their order, so that sessions
-- wait for each other and never in a circle. Read in UTC and ISO 8601, whoever writes. All is of
-- this transaction: the text is findable at once, vectors follow. In an apply worker
-- (session_replication_role) our own triggers and foreign keys would not fire, so it is put aside.
-- NULL keys are none. Metadata, URI and date alone change no chunk.
CREATE OR REPLACE FUNCTION pgblend._apply_changes(
    attached pgblend_data.attached_table,
    keys text[]
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
SET intervalstyle = 'iso_8601'
SET bytea_output = 'hex'
SET extra_float_digits = 1
AS $function$
DECLARE
    batch_size CONSTANT integer := 200;
    replication_role text := current_setting('session_replication_role');
    target pgblend_data.collection;
    batch text[];
    found record;
    changed bigint := 0;
BEGIN
    IF replication_role <> 'origin' THEN
        PERFORM set_config('session_replication_role', 'origin', true);
    END IF;
    SELECT c.* INTO STRICT target FROM pgblend_data.collection AS c
    WHERE c.id = attached.collection_id;
    SELECT array_agg(DISTINCT k.source_key COLLATE "C" ORDER BY k.source_key COLLATE "C") INTO keys
    FROM unnest(keys) AS k (source_key);
    FOR start IN 1..coalesce(cardinality(keys), 0) BY batch_size LOOP
        batch := keys[start:start + batch_size - 1];
        SELECT array_agg(r.key) AS keys, array_agg(r.title) AS titles,
            array_agg(r.content) AS contents, array_agg(r.metadata) AS metadata,
            array_agg(r.uri) AS uris, array_agg(r.modified_at) AS modified_at,
            array_agg(r.targets) AS targets
        INTO found
        FROM pgblend._attached_rows(attached, 'rows', batch, NULL) AS r;
        WITH stored AS MATERIALIZED (
            SELECT d.id, d.source_key
            FROM pgblend_data.document AS d
            WHERE d.collection_id = target.id AND d.source_key = ANY(batch)
            ORDER BY d.source_key COLLATE "C"
            FOR UPDATE
        ), gone AS (
            DELETE FROM pgblend_data.document AS d
            USING stored AS s
            WHERE d.id = s.id AND s.source_key <> ALL(coalesce(found.keys, '{}'))
            RETURNING d.id
        )
        SELECT changed + count(*) INTO changed FROM gone AS g;
        IF found.keys IS NOT NULL THEN
            changed := changed + (
                SELECT count(*) FROM pgblend._store_documents(
                    target,
                    ARRAY(
                        SELECT ROW(
                            NULL, target.id, pgblend._bucket(target.id, f.source_key), f.source_key,
                            f.uri, f.title,
                            pgblend._document_language(
                                target.text_search_config, f.title, f.content),
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
            PERFORM pgblend._link_references(attached, found.keys, found.targets);
        END IF;
    END LOOP;
    IF replication_role <> 'origin' THEN
        PERFORM set_config('session_replication_role', replication_role, true);
    END IF;
    RETURN changed;
END;
$function$;
