-- _no_collections: note that a role without any grant searches: a WARNING, and the text for
-- `degraded`; nothing for a role that may read some collection, or that sees all.
-- With the setting strict it is an error (42501), as where vectors are needed (PB001).
CREATE OR REPLACE FUNCTION pgblend._no_collections(
    collection_ids bigint[],
    settings jsonb,
    needs_vectors boolean
)
RETURNS text[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    problem text := format('role %I may read no collection', current_user);
    hint text := format(
        'A member of pgblend_admin grants one: SELECT grant_collection(NAME, %L).', current_user);
BEGIN
    IF cardinality(collection_ids) > 0 OR pg_has_role('pgblend_admin', 'USAGE') THEN
        RETURN '{}';
    ELSIF needs_vectors THEN
        RAISE EXCEPTION 'VECTORS_UNAVAILABLE: %', problem
            USING ERRCODE = 'PB001', HINT = hint;
    ELSIF (settings ->> 'strict')::boolean THEN
        RAISE EXCEPTION '%', problem USING ERRCODE = '42501', HINT = hint;
    END IF;
    RAISE WARNING '%', problem USING HINT = hint;
    RETURN ARRAY[format('collections: %s; %s', problem, hint)];
END;
$function$;
