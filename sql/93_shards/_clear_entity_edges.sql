-- _clear_entity_edges: delete edges on this shard that a model of another version found, and note
-- entities which may be without an edge now.
CREATE OR REPLACE FUNCTION pgblend._clear_entity_edges(collection text, version text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    own_id bigint := (pgblend._writable_collection(collection)).id;
BEGIN
    PERFORM pgblend._drop_lone_entities(pgblend._clear_model_edges(own_id, version), own_id);
END;
$function$;
