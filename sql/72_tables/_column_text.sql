-- _column_text: SQL for the text of a column of rows t, which is NULL where the column is; NULL
-- for NULL.
-- A cast of a user's type may be code of that user. So every value leaves by its type's output
-- function (format), and only texts are cast, to types of PostgreSQL's own.
CREATE OR REPLACE FUNCTION pgblend._column_text(column_name text, type_id oid)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
STRICT
AS $function$
BEGIN
    RETURN format('CASE WHEN num_nulls(t.%1$I) = 0 THEN format(''%%s'', t.%1$I)%2$s END',
        column_name,
        -- Their output is not their text: t for true, blanks to the end of char(n).
        CASE WHEN type_id = ANY('{bool,bpchar,cidr,inet}'::regtype[]) THEN (
            SELECT format('::pg_catalog.%I::pg_catalog.text', t.typname)
            FROM pg_type AS t WHERE t.oid = type_id)
        ELSE '' END);
END;
$function$;
