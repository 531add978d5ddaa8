-- _writable_judged_set: the judged set of that name and collection (_judged_set); an error where
-- the caller may not write to it.
CREATE OR REPLACE FUNCTION pgblend._writable_judged_set(judged_set text, collection text)
RETURNS pgblend_data.judged_set
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    target pgblend_data.judged_set := pgblend._judged_set(judged_set, collection);
BEGIN
    IF NOT pgblend._may_write(target.collection_id) THEN
        RAISE EXCEPTION '% may not write to judged set "%"', current_user, target.name
            USING ERRCODE = '42501',
            HINT = 'Who may write to its collection may: grant_collection(collection, role, '
                '''write'').';
    END IF;
    RETURN target;
END;
$function$;
