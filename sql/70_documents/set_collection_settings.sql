-- set_collection_settings: change settings of a collection, all or none; the others stay.
-- A JSON null resets a setting. Searches of the collection alone follow at once; chunk sizes hold
-- for what is ingested from now on. An unknown collection, unknown settings and wrong values are
-- errors. NULL and {} change nothing. For members of pgblend_admin.
CREATE OR REPLACE FUNCTION blend.set_collection_settings(collection text, settings jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    collection_id bigint := (pgblend._named_collection(set_collection_settings.collection)).id;
    in_force jsonb;
BEGIN
    PERFORM pgblend._check_settings(
        set_collection_settings.settings, ARRAY['search', 'collection'], 'collection settings');
    UPDATE pgblend_data.collection AS c
    SET settings = (
        SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}')
        FROM jsonb_each(c.settings || set_collection_settings.settings) AS e
        WHERE e.value <> 'null')
    WHERE c.id = collection_id AND set_collection_settings.settings <> '{}'
    RETURNING c.settings INTO in_force;
    IF FOUND THEN
        PERFORM pgblend._check_chunk_sizes(pgblend._collection_settings(in_force));
    END IF;
END;
$function$;
