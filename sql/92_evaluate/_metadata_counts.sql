-- _metadata_counts: how many documents have a metadata value, for each that one in 30,000 has.
-- `entry` is {key: value} as text, of keys with one text, number or boolean.
CREATE OR REPLACE FUNCTION pgblend._metadata_counts(collection_ids bigint[])
RETURNS TABLE (entry text, documents bigint)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    one_in CONSTANT integer := 30000;
    total bigint := (
        SELECT count(*) FROM pgblend_data.document AS d
        WHERE d.collection_id = ANY(collection_ids));
BEGIN
    RETURN QUERY
    SELECT jsonb_build_object(m.key, m.value)::text, count(*)
    FROM pgblend_data.document AS d
    CROSS JOIN LATERAL jsonb_each(d.metadata) AS m
    WHERE d.collection_id = ANY(collection_ids)
        AND jsonb_typeof(m.value) IN ('string', 'number', 'boolean')
    GROUP BY m.key, m.value
    HAVING count(*) * one_in >= total;
END;
$function$;
