-- _end_graph_changes: forget changes of this shard that the coordinator has looked at.
CREATE OR REPLACE FUNCTION pgblend._end_graph_changes(ids jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    DELETE FROM pgblend_data.graph_change AS c
    WHERE c.id IN (SELECT i::bigint FROM jsonb_array_elements_text(ids) AS i);
END;
$function$;
