-- _seal_collection: seal all pending chunks of a collection; returns how many, 0 where somebody
-- else seals.
-- With at_least, nothing is done while fewer chunks are pending and fewer deleted ones noted.
CREATE OR REPLACE FUNCTION pgblend._seal_collection(collection_id bigint, at_least integer)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
#variable_conflict use_column
DECLARE
    sealed bigint := 0;
    batch integer;
    config_name text;
BEGIN
    IF greatest(
        (SELECT count(*) FROM (
            SELECT FROM pgblend_data.pending AS p
            WHERE p.collection_id = _seal_collection.collection_id
            LIMIT at_least) AS waiting),
        (SELECT count(*) FROM (
            SELECT FROM pgblend_data.tombstone AS t
            WHERE t.collection_id = _seal_collection.collection_id
            LIMIT at_least) AS deleted)
    ) < at_least
        OR NOT pgblend._claim_index(_seal_collection.collection_id)
    THEN
        RETURN 0;
    END IF;
    FOR config_name IN
        SELECT l.text_search_config FROM pgblend_data.collection_language AS l
        WHERE l.collection_id = _seal_collection.collection_id
        ORDER BY l.text_search_config
    LOOP
        LOOP
            batch := pgblend._seal_batch(_seal_collection.collection_id, config_name);
            sealed := sealed + batch;
            EXIT WHEN batch < 20000;
        END LOOP;
    END LOOP;
    RETURN sealed;
END;
$function$;
