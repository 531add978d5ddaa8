-- _empty_collection: delete all documents of a collection, and its lexical index.
CREATE OR REPLACE FUNCTION pgblend._empty_collection(target bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    -- No seal meets a half removed index.
    PERFORM FROM pgblend_data.index_claim AS k WHERE k.collection_id = target FOR UPDATE;
    DELETE FROM pgblend_data.document AS d WHERE d.collection_id = target;
    DELETE FROM pgblend_data.posting AS p
    USING pgblend_data.segment AS s
    WHERE s.id = p.segment_id AND s.collection_id = target;
    DELETE FROM pgblend_data.segment AS s WHERE s.collection_id = target;
    DELETE FROM pgblend_data.tombstone AS t WHERE t.collection_id = target;
    DELETE FROM pgblend_data.vocabulary AS v WHERE v.collection_id = target;
END;
$function$;

-- remove_collection: delete a collection with all its documents; false where there is none.
-- A collection that follows a table is an error.
CREATE OR REPLACE FUNCTION blend.remove_collection(name text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target bigint := (
        SELECT c.id FROM pgblend_data.collection AS c WHERE c.name = remove_collection.name);
    followed text := (
        SELECT a.table_name FROM pgblend_data.attached_table AS a WHERE a.collection_id = target);
BEGIN
    IF followed IS NOT NULL THEN
        RAISE EXCEPTION 'collection "%" follows the table %', remove_collection.name, followed
            USING ERRCODE = '55000', HINT = 'Detach it: SELECT detach_table(…)';
    END IF;
    PERFORM pgblend._empty_collection(target);
    DELETE FROM pgblend_data.collection AS c WHERE c.id = target;
    RETURN FOUND;
END;
$function$;
