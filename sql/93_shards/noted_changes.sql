-- _note_names: trigger of a shard that notes names which documents or links got or lost: links of
-- other shards may lead elsewhere now.
CREATE OR REPLACE FUNCTION pgblend._note_names()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.graph_change (collection_id, name)
    SELECT DISTINCT c.collection_id, c.name FROM changed AS c;
    RETURN NULL;
END;
$function$;

-- _note_nodes: trigger of a shard that notes documents, chunks or entities which went: edges of
-- other shards may lead to them.
CREATE OR REPLACE FUNCTION pgblend._note_nodes()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.graph_change (collection_id, node)
    SELECT c.collection_id,
        c.id * 4 + CASE TG_TABLE_NAME WHEN 'chunk' THEN 1 WHEN 'entity' THEN 2 ELSE 0 END
    FROM changed AS c;
    RETURN NULL;
END;
$function$;
