-- _writable_collection: the collection of that name; an error where the caller may not write to it.
CREATE OR REPLACE FUNCTION pgblend._writable_collection(collection text)
RETURNS pgblend_data.collection
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._named_collection(collection);
BEGIN
    IF NOT pgblend._may_write(target.id) THEN
        RAISE EXCEPTION '% may not write to collection "%"', current_user, target.name
            USING ERRCODE = '42501',
            HINT = 'An admin grants it: grant_collection(collection, role, ''write'')';
    END IF;
    RETURN target;
END;
$function$;
