-- _column_json: SQL for the value of a column of rows t that to_jsonb makes metadata of.
-- to_jsonb calls casts to json, so only values of types that belong to PostgreSQL or to an
-- extension, and arrays of those, are left to it. All others are texts, or arrays of texts.
CREATE OR REPLACE FUNCTION pgblend._column_json(column_name text, type_id oid)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
STRICT
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    first_of_users CONSTANT oid := 16384;
    base oid := pgblend._base_type(type_id);
    element oid := (
        SELECT t.typelem FROM pg_type AS t
        WHERE t.oid = base AND t.typsubscript = 'array_subscript_handler'::regproc);
    decides oid := pgblend._base_type(coalesce(element, base));
BEGIN
    RETURN CASE
        WHEN decides < first_of_users OR EXISTS (
            SELECT FROM pg_depend AS d
            INNER JOIN pg_type AS t ON t.oid = d.objid
            WHERE d.classid = 'pg_type'::regclass AND d.objid = decides AND d.deptype = 'e'
                AND t.typtype = 'b')
            THEN format('t.%I', column_name)
        WHEN element IS NOT NULL THEN format(
            'CASE WHEN num_nulls(t.%1$I) = 0 THEN ARRAY(
                SELECT CASE WHEN num_nulls(e.item) = 0 THEN format(''%%s'', e.item) END
                FROM (SELECT unnest(t.%1$I) AS item) AS e) END', column_name)
        ELSE pgblend._column_text(column_name, type_id) END;
END;
$function$;
