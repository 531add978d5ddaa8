-- _writable_judged_set: the judged set of that name; an error where the caller sees none, or may
-- not write to it.
CREATE OR REPLACE FUNCTION pgblend._writable_judged_set(judged_set text)
RETURNS pgblend_data.judged_set
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    target pgblend_data.judged_set;
BEGIN
    SELECT s.* INTO target FROM pgblend_data.judged_set AS s WHERE s.name = judged_set;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no judged set % that % may read',
            coalesce('"' || left(judged_set, 200) || '"', 'NULL'), current_user
            USING ERRCODE = '42704',
            HINT = 'SELECT name FROM blend.judged_sets; pgblend eval import makes one.';
    END IF;
    IF NOT pgblend._may_write(target.collection_id) THEN
        RAISE EXCEPTION '% may not write to judged set "%"', current_user, target.name
            USING ERRCODE = '42501',
            HINT = 'Who may write to its collection may: grant_collection(collection, role, '
                '''write'').';
    END IF;
    RETURN target;
END;
$function$;
