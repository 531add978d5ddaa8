-- _named_collection: the collection of that name; an error where the caller sees none.
CREATE OR REPLACE FUNCTION pgblend._named_collection(collection text)
RETURNS pgblend_data.collection
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    found_collection pgblend_data.collection;
BEGIN
    SELECT c.* INTO found_collection FROM pgblend_data.collection AS c WHERE c.name = collection;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no collection % that % may read',
            coalesce('"' || left(collection, 200) || '"', 'NULL'), current_user
            USING ERRCODE = '42704',
            HINT = 'SELECT name FROM blend.collections; an admin makes one: add_collection(…)';
    END IF;
    RETURN found_collection;
END;
$function$;
