-- _keep_entities: store those of some entities that are of this shard; returns their nodes.
-- An entity is {shard, type, key, name, description}. Where is_first, it has no edge yet, and is
-- noted, for the coordinator to look whether one came. Each is touched, so that who has not seen
-- its edges does not delete it (_drop_entities).
CREATE OR REPLACE FUNCTION pgblend._keep_entities(collection text, entities jsonb, is_first boolean)
RETURNS TABLE (node bigint, entity_type text, name_key text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    own_id bigint := (pgblend._writable_collection(collection)).id;
BEGIN
    RETURN QUERY
    WITH kept AS (
        INSERT INTO pgblend_data.entity AS t (
            collection_id, bucket, entity_type, name_key, name, description)
        SELECT own_id, pgblend._bucket(own_id, e.type || ':' || e.key), e.type, e.key, e.name,
            e.description
        FROM jsonb_to_recordset(entities)
            AS e (shard integer, type text, key text, name text, description text)
        INNER JOIN pgblend_data.shard_self AS s ON s.number = e.shard
        ORDER BY e.type, e.key
        ON CONFLICT ON CONSTRAINT entity_collection_id_entity_type_name_key_key
        DO UPDATE SET description = coalesce(t.description, excluded.description)
        RETURNING t.id, t.entity_type, t.name_key
    ), noted AS (
        INSERT INTO pgblend_data.graph_change (collection_id, node)
        SELECT own_id, k.id * 4 + 2 FROM kept AS k WHERE is_first
    )

    SELECT k.id * 4 + 2, k.entity_type, k.name_key FROM kept AS k;
END;
$function$;
