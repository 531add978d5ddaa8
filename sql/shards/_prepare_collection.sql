-- _prepare_collection: say what a collection that follows a table lacks on a coordinator: edges of
-- foreign keys.
CREATE OR REPLACE FUNCTION pgblend._prepare_collection(wanted pgblend_data.attached_table)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    names text[] := pgblend._foreign_key_names(wanted.relation);
BEGIN
    IF names <> '{}' THEN
        RAISE WARNING 'foreign keys of % make no edges on a coordinator of shards: %',
            wanted.relation, array_to_string(names, ', ')
            USING HINT = 'docs/shards.md says what the graph of shards lacks.';
    END IF;
END;
$function$;
