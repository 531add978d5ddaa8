-- _store_extraction: keep what a model found in a text: {entities: [{name, type, description}],
-- relations: [{source, target, type}]}.
-- The client has checked it. One that is there already stays: another session asked too.
CREATE OR REPLACE FUNCTION pgblend._store_extraction(
    collection_id bigint,
    content_hash text,
    version text,
    result jsonb
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    INSERT INTO pgblend_data.entity_extraction (collection_id, content_hash, version, result)
    VALUES (_store_extraction.collection_id, _store_extraction.content_hash,
        _store_extraction.version, _store_extraction.result)
    ON CONFLICT DO NOTHING;
END;
$function$;
