-- remove_judged_set: delete a judged set with its queries, judgements and runs.
-- False where there is none; the documents stay. Where several collections have a set of the name,
-- collection says which; '' is a set on all collections.
CREATE OR REPLACE FUNCTION blend.remove_judged_set(name text, collection text DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pgblend_data.judged_set AS s
        LEFT JOIN pgblend_data.collection AS c ON c.id = s.collection_id
        WHERE s.name = remove_judged_set.name
            AND coalesce(c.name, '') = coalesce(remove_judged_set.collection, c.name, ''))
    THEN
        RETURN false;
    END IF;
    DELETE FROM pgblend_data.judged_set AS s
    WHERE s.id = (pgblend._writable_judged_set(
        remove_judged_set.name, remove_judged_set.collection)).id;
    RETURN true;
END;
$function$;
