-- _claim_documents: lock the documents of some keys of an attached table, and make those that are
-- not there, before their rows are read.
-- What every writer before has committed is seen then, and every writer after waits.
CREATE OR REPLACE FUNCTION pgblend._claim_documents(
    attached pgblend_data.attached_table,
    keys text[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.document (
        collection_id, bucket, source_key, title, text_search_config, metadata, content_hash)
    SELECT c.id, pgblend._bucket(c.id, k.source_key), k.source_key, '', c.text_search_config, '{}',
        ''
    FROM pgblend_data.collection AS c
    CROSS JOIN unnest(keys) AS k (source_key)
    WHERE c.id = attached.collection_id
    ORDER BY k.source_key COLLATE "C"
    ON CONFLICT ON CONSTRAINT document_collection_id_source_key_key
    DO UPDATE SET bucket = excluded.bucket WHERE false;  -- locks the row, changes nothing
END;
$function$;
