-- _drop_entities: delete entities of this shard that no shard has an edge of, but those that were
-- touched since their marks were read: an edge has come, or is about to.
CREATE OR REPLACE FUNCTION pgblend._drop_entities(marks jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    DELETE FROM pgblend_data.entity AS t
    USING jsonb_to_recordset(marks) AS m (node bigint, mark text)
    WHERE t.id = m.node >> 2 AND t.xmin::text = m.mark;
END;
$function$;
