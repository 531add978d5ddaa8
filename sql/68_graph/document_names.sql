-- _document_names: what links may call a document by, normalised: its path, the last part of it,
-- its address in the web, its aliases (metadata: aliases or alias) and its title.
-- 22023 where metadata has a number that Python does not read, as other programs would not.
CREATE OR REPLACE FUNCTION pgblend._document_names(
    source_key text,
    title text,
    uri text,
    metadata jsonb
)
RETURNS TABLE (name text, kind text, full_name text)
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
ROWS 4
AS $python$
import json
from pgblend.plpy.graph.names import document_names

try:
    about = json.loads(metadata)
except ValueError:
    plpy.error(
        "metadata has a number of more than 4,300 digits", sqlstate="22023",
        hint="Store it as a text.")
aliases = []
for key in ("alias", "aliases"):
    value = about.get(key)
    aliases += value if isinstance(value, list) else [value]
return document_names(
    source_key, title or "", uri, [alias for alias in aliases if isinstance(alias, str)])
$python$;

-- _document_record_names: trigger that stores the names of documents and resolves links of those
-- names.
-- Names and links are looked up by index: the session's plan may be of a time when there were none.
CREATE OR REPLACE FUNCTION pgblend._document_record_names()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET enable_seqscan = off
SET jit = off
AS $function$
DECLARE
    renamed bigint[];
    gone_collections bigint[];
    gone_names text[];
    added record;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        renamed := ARRAY(
            SELECT n.id
            FROM new_document AS n
            INNER JOIN old_document AS o ON o.id = n.id
            WHERE (n.source_key, n.title, n.uri, n.metadata)
                IS DISTINCT FROM (o.source_key, o.title, o.uri, o.metadata));
        IF renamed = '{}' THEN
            RETURN NULL;
        END IF;
        WITH deleted AS (
            DELETE FROM pgblend_data.document_name AS n WHERE n.document_id = ANY(renamed)
            RETURNING n.collection_id, n.name
        )

        SELECT array_agg(d.collection_id), array_agg(d.name) INTO gone_collections, gone_names
        FROM deleted AS d;
    END IF;
    WITH named AS (
        INSERT INTO pgblend_data.document_name (
            collection_id, document_id, bucket, name, kind, full_name)
        SELECT d.collection_id, d.id, d.bucket, n.name, n.kind, n.full_name
        FROM new_document AS d
        CROSS JOIN LATERAL
            pgblend._document_names(d.source_key, d.title, d.uri, d.metadata) AS n
        WHERE renamed IS NULL OR d.id = ANY(renamed)
        RETURNING collection_id, name
    )

    SELECT array_agg(n.collection_id) AS collections, array_agg(n.name) AS names INTO added
    FROM named AS n;
    PERFORM pgblend._resolve_links(l.collection_id, array_agg(DISTINCT l.name))
    FROM pgblend_data.link AS l
    WHERE (l.collection_id, l.name) IN (
        SELECT t.* FROM unnest(
            added.collections || gone_collections, added.names || gone_names) AS t)
    GROUP BY l.collection_id;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER document_20_record_names AFTER INSERT ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_names();
CREATE OR REPLACE TRIGGER document_20_record_other_names AFTER UPDATE ON pgblend_data.document
REFERENCING OLD TABLE AS old_document NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_names();
