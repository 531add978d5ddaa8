-- _judged_set: the judged set of that name; an error where the caller sees none.
CREATE OR REPLACE FUNCTION pgblend._judged_set(judged_set text)
RETURNS pgblend_data.judged_set
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    found_set pgblend_data.judged_set;
BEGIN
    SELECT s.* INTO found_set FROM pgblend_data.judged_set AS s WHERE s.name = judged_set;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no judged set % that % may read',
            coalesce('"' || left(judged_set, 200) || '"', 'NULL'), current_user
            USING ERRCODE = '42704',
            HINT = 'SELECT name FROM blend.judged_sets; pgblend eval import makes one.';
    END IF;
    RETURN found_set;
END;
$function$;
