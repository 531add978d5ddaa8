-- _base_type: the type that a domain, or a domain over one, is made of; other types are their own.
CREATE OR REPLACE FUNCTION pgblend._base_type(type_id oid)
RETURNS oid
LANGUAGE plpgsql
STABLE PARALLEL SAFE
STRICT
AS $function$
DECLARE
    base oid;
BEGIN
    LOOP
        SELECT t.typbasetype INTO base FROM pg_type AS t WHERE t.oid = type_id AND t.typtype = 'd';
        IF NOT FOUND THEN
            RETURN type_id;
        END IF;
        type_id := base;
    END LOOP;
END;
$function$;
