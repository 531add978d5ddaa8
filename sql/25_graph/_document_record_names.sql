-- _document_record_names: trigger that notes the names of documents, and has links of those names
-- resolved.
-- Names and links are looked up by index: the session's plan may be of a time when there were none.
CREATE OR REPLACE FUNCTION pgblend._document_record_names()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET enable_seqscan = off
SET jit = off
AS $function$
DECLARE
    renamed bigint[];
    gone_collections bigint[];
    gone_names text[];
    here record;
    linked text[];
BEGIN
    IF TG_OP = 'UPDATE' THEN
        renamed := ARRAY(
            SELECT n.id
            FROM new_document AS n
            INNER JOIN old_document AS o ON o.id = n.id
            WHERE (n.source_key, n.title, n.uri, n.metadata)
                IS DISTINCT FROM (o.source_key, o.title, o.uri, o.metadata));
        WITH deleted AS (
            DELETE FROM pgblend_data.document_name AS n WHERE n.document_id = ANY(renamed)
            RETURNING n.collection_id, n.name
        )

        SELECT array_agg(d.collection_id), array_agg(d.name) INTO gone_collections, gone_names
        FROM deleted AS d;
    END IF;
    FOR here IN
        WITH added AS (
            INSERT INTO pgblend_data.document_name (
                collection_id, document_id, bucket, name, kind, full_name)
            SELECT d.collection_id, d.id, d.bucket, n.name, n.kind, n.full_name
            FROM new_document AS d
            CROSS JOIN LATERAL
                pgblend._document_names(d.source_key, d.title, d.uri, d.metadata) AS n
            WHERE renamed IS NULL OR d.id = ANY(renamed)
            RETURNING collection_id, name
        )

        SELECT t.collection_id, array_agg(DISTINCT t.name) AS names
        FROM (
            SELECT a.collection_id, a.name FROM added AS a
            UNION ALL
            SELECT g.* FROM unnest(gone_collections, gone_names) AS g
        ) AS t
        GROUP BY t.collection_id
    LOOP
        SELECT array_agg(DISTINCT l.name) INTO linked
        FROM pgblend_data.link AS l
        WHERE l.collection_id = here.collection_id AND l.name = ANY(here.names);
        IF linked IS NOT NULL THEN
            PERFORM pgblend._resolve_links(here.collection_id, linked);
        END IF;
    END LOOP;
    RETURN NULL;
END;
$function$;
