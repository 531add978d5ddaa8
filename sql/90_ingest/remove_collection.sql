-- remove_collection: delete a collection with all its documents; false where there is none to
-- delete. One that follows a table is an error.
CREATE OR REPLACE FUNCTION blend.remove_collection(name text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    followed text := (
        SELECT a.table_name
        FROM pgblend_data.attached_table AS a
        INNER JOIN pgblend_data.collection AS c ON c.id = a.collection_id
        WHERE c.name = remove_collection.name);
BEGIN
    IF followed IS NOT NULL THEN
        RAISE EXCEPTION 'collection "%" follows the table %', remove_collection.name, followed
            USING ERRCODE = '55000', HINT = 'Detach it: SELECT detach_table(…)';
    END IF;
    PERFORM FROM pgblend_data.index_claim AS k  -- no seal meets a half removed index
    INNER JOIN pgblend_data.collection AS c ON c.id = k.collection_id
    WHERE c.name = remove_collection.name
    FOR UPDATE OF k;
    DELETE FROM pgblend_data.document AS d
    USING pgblend_data.collection AS c
    WHERE c.id = d.collection_id AND c.name = remove_collection.name;
    DELETE FROM pgblend_data.posting AS p
    USING pgblend_data.collection AS c, pgblend_data.segment AS s
    WHERE s.id = p.segment_id AND c.id = s.collection_id AND c.name = remove_collection.name;
    DELETE FROM pgblend_data.segment AS s
    USING pgblend_data.collection AS c
    WHERE c.id = s.collection_id AND c.name = remove_collection.name;
    DELETE FROM pgblend_data.tombstone AS t
    USING pgblend_data.collection AS c
    WHERE c.id = t.collection_id AND c.name = remove_collection.name;
    DELETE FROM pgblend_data.vocabulary AS v
    USING pgblend_data.collection AS c
    WHERE c.id = v.collection_id AND c.name = remove_collection.name;
    DELETE FROM pgblend_data.collection AS c WHERE c.name = remove_collection.name;
    RETURN FOUND;
END;
$function$;
