-- _is_vector: whether a type, or what a domain is made of, is pgvector's own vector or halfvec.
CREATE OR REPLACE FUNCTION pgblend._is_vector(type_id oid)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    RETURN EXISTS (
        SELECT FROM pg_type AS t
        INNER JOIN pg_depend AS d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid
        INNER JOIN pg_extension AS e ON d.refobjid = e.oid
        WHERE t.oid = pgblend._base_type(type_id) AND t.typname IN ('vector', 'halfvec')
            AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
            AND e.extname = 'vector');
END;
$function$;
