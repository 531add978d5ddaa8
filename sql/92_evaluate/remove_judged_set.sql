-- remove_judged_set: delete a judged set with its queries, judgements and runs.
-- False where there is none; the documents stay.
CREATE OR REPLACE FUNCTION blend.remove_judged_set(name text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pgblend_data.judged_set AS s WHERE s.name = remove_judged_set.name)
    THEN
        RETURN false;
    END IF;
    DELETE FROM pgblend_data.judged_set AS s
    WHERE s.id = (pgblend._writable_judged_set(remove_judged_set.name)).id;
    RETURN true;
END;
$function$;
