-- _entity_marks: those of some nodes that are entities of this shard, each with a mark that changes
-- whenever it is touched.
CREATE OR REPLACE FUNCTION pgblend._entity_marks(nodes jsonb)
RETURNS TABLE (node bigint, mark text)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT t.id * 4 + 2, t.xmin::text
    FROM pgblend_data.entity AS t
    WHERE t.id IN (
        SELECT n::bigint >> 2 FROM jsonb_array_elements_text(nodes) AS n WHERE n::bigint & 3 = 2);
END;
$function$;
