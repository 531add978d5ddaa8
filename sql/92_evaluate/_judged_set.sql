-- _judged_set: the judged set of that name, on that collection (NULL: on whichever has one, '': on
-- all collections); an error where the caller sees none or several.
-- Names are a collection's own, so that nobody takes another's.
CREATE OR REPLACE FUNCTION pgblend._judged_set(judged_set text, collection text)
RETURNS pgblend_data.judged_set
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    found pgblend_data.judged_set[] := ARRAY(
        SELECT s FROM pgblend_data.judged_set AS s
        LEFT JOIN pgblend_data.collection AS c ON c.id = s.collection_id
        WHERE s.name = judged_set
            AND coalesce(c.name, '') = coalesce(collection, c.name, ''));
BEGIN
    IF cardinality(found) > 1 THEN
        RAISE EXCEPTION 'judged set "%" is of several collections: %', left(judged_set, 200), (
            SELECT string_agg(coalesce(c.name, 'all'), ', ' ORDER BY c.name)
            FROM unnest(found) AS f LEFT JOIN pgblend_data.collection AS c ON c.id = f.collection_id)
            USING ERRCODE = '42725',
            HINT = 'Name the collection as well: collection => …, on the command line '
                '--collection; '''' is a set on all collections.';
    ELSIF cardinality(found) = 0 THEN
        RAISE EXCEPTION 'there is no judged set % that % may read',
            coalesce('"' || left(judged_set, 200) || '"', 'NULL')
                || coalesce(' on collection "' || left(collection, 200) || '"', ''),
            current_user
            USING ERRCODE = '42704',
            HINT = 'SELECT name, collection FROM blend.judged_sets; pgblend eval import makes one.';
    END IF;
    RETURN found[1];
END;
$function$;
