-- _writable_judged_set: the judged set of that name, on that collection (NULL: on whichever has
-- one); an error where the caller sees none or several, or may not write to it.
-- Names are a collection's own, so that nobody takes another's.
CREATE OR REPLACE FUNCTION pgblend._writable_judged_set(judged_set text, collection text)
RETURNS pgblend_data.judged_set
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    found pgblend_data.judged_set[] := ARRAY(
        SELECT s FROM pgblend_data.judged_set AS s
        LEFT JOIN pgblend_data.collection AS c ON c.id = s.collection_id
        WHERE s.name = judged_set AND c.name IS NOT DISTINCT FROM coalesce(collection, c.name));
    target pgblend_data.judged_set := found[1];
BEGIN
    IF cardinality(found) > 1 THEN
        RAISE EXCEPTION 'judged set "%" is of several collections: %', left(judged_set, 200), (
            SELECT string_agg(coalesce(c.name, 'all'), ', ' ORDER BY c.name)
            FROM unnest(found) AS f LEFT JOIN pgblend_data.collection AS c ON c.id = f.collection_id)
            USING ERRCODE = '42725', HINT = 'Name the collection as well: collection => …';
    ELSIF target.id IS NULL THEN
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
