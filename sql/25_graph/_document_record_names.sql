-- _document_record_names: trigger that notes the names of a document, and has links of those names
-- resolved.
CREATE OR REPLACE FUNCTION pgblend._document_record_names()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    names text[];
    changed text[];
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.source_key, NEW.title, NEW.uri, NEW.metadata)
            IS NOT DISTINCT FROM (OLD.source_key, OLD.title, OLD.uri, OLD.metadata)
        THEN
            RETURN NULL;
        END IF;
        WITH gone AS (
            DELETE FROM pgblend_data.document_name AS n WHERE n.document_id = NEW.id
            RETURNING n.name
        )

        SELECT array_agg(DISTINCT g.name) INTO names FROM gone AS g;
    END IF;
    WITH added AS (
        INSERT INTO pgblend_data.document_name (
            collection_id, document_id, bucket, name, kind, full_name)
        SELECT NEW.collection_id, NEW.id, NEW.bucket, n.name, n.kind, n.full_name
        FROM pgblend._document_names(NEW.source_key, NEW.title, NEW.uri, NEW.metadata) AS n
        RETURNING name
    )

    SELECT array_agg(DISTINCT a.name) || names INTO names FROM added AS a;
    SELECT array_agg(DISTINCT l.name) INTO changed
    FROM pgblend_data.link AS l
    WHERE l.collection_id = NEW.collection_id AND l.name = ANY(names);
    IF changed IS NOT NULL THEN
        PERFORM pgblend._resolve_links(NEW.collection_id, changed);
    END IF;
    RETURN NULL;
END;
$function$;

COMMENT ON FUNCTION pgblend._document_record_names() IS
'Trigger that notes the names of a document, and has links of those names resolved.';
