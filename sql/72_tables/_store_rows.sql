-- _store_rows: bring the documents of some keys of a collection up to date with the rows of its
-- attached table.
-- rows are those of keys that are there: they are stored (split only where the text changed), and
-- documents of the other keys deleted. Metadata, URI and date alone change no chunk.
CREATE OR REPLACE FUNCTION pgblend._store_rows(
    target pgblend_data.collection,
    keys text[],
    rows pgblend_data.attached_row[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    WITH stored AS MATERIALIZED (
        SELECT d.id, d.source_key
        FROM pgblend_data.document AS d
        WHERE d.collection_id = target.id AND d.source_key = ANY(keys)
        ORDER BY d.source_key COLLATE "C"
        FOR UPDATE
    )
    DELETE FROM pgblend_data.document AS d
    USING stored AS s
    WHERE d.id = s.id AND s.source_key <> ALL(ARRAY(SELECT r.key FROM unnest(rows) AS r));
    IF cardinality(rows) > 0 THEN
        PERFORM pgblend._store_documents(
            target,
            ARRAY(
                SELECT ROW(
                    NULL, target.id, pgblend._bucket(target.id, r.key), r.key,
                    pgblend._uncontrolled(r.uri), pgblend._uncontrolled(r.title),
                    pgblend._document_language(target.text_search_config, r.title, r.content),
                    NULL, pgblend._uncontrolled_json(r.metadata), NULL, NULL,
                    encode(sha256(convert_to(r.content, 'UTF8')), 'hex'), r.modified_at,
                    NULL)::pgblend_data.document
                FROM unnest(rows) AS r),
            ARRAY(SELECT r.content FROM unnest(rows) AS r), NULL, NULL);
    END IF;
END;
$function$;
