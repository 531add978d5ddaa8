-- _row_filter: a condition on rows of a relation as PostgreSQL writes it, and the columns that it
-- reads; or what hinders it.
-- It may hold operators and functions of PostgreSQL's own that are immutable, and values of enums:
-- what the predicate of an index may hold, less all that users make. PostgreSQL itself judges it,
-- as the predicate of an index on an empty table with the same columns, which is undone. Columns
-- of other types than PostgreSQL's own and enums are not there: to read a literal of such a type
-- may be to run a user's code. Runs with the rights of whoever attaches. Values are read in UTC and
-- ISO 8601.
CREATE OR REPLACE FUNCTION pgblend._row_filter(
    relation regclass,
    condition text,
    OUT problem text,
    OUT row_filter text,
    OUT filter_columns text[]
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
SET intervalstyle = 'postgres'
AS $function$
DECLARE
    first_of_users CONSTANT oid := 16384;
    index_id oid;
    made_by_users text;
    is_judged boolean := false;
    none record;
BEGIN
    filter_columns := '{}';
    IF condition IS NULL THEN
        RETURN;
    END IF;
    BEGIN
        -- Calls in text: none (a user's condition).
        EXECUTE format('CREATE TEMP TABLE pgblend_filtered (%s)', (
            SELECT string_agg(format('%I %s', c.attname, format_type(b.base,
                CASE WHEN b.base = c.atttypid THEN c.atttypmod ELSE -1 END)), ', '
                ORDER BY c.attnum)
            FROM pg_attribute AS c
            CROSS JOIN LATERAL (SELECT pgblend._base_type(c.atttypid) AS base) AS b
            INNER JOIN pg_type AS t ON b.base = t.oid
            WHERE c.attrelid = relation AND c.attnum > 0 AND NOT c.attisdropped
                AND (t.oid < first_of_users OR t.typtype = 'e')));
        -- A query of a loop is one statement, whatever the condition says.
        FOR none IN EXECUTE format(
            E'SELECT FROM pg_temp.pgblend_filtered WHERE (%s\n)', condition)
        LOOP
        END LOOP;
        EXECUTE format(
            E'CREATE INDEX pgblend_filter ON pg_temp.pgblend_filtered ((true)) WHERE (%s\n)',
            condition);
        index_id := 'pg_temp.pgblend_filter'::regclass;
        SELECT pg_get_expr(i.indpred, i.indrelid) INTO row_filter
        FROM pg_index AS i WHERE i.indexrelid = index_id;
        SELECT coalesce(array_agg(c.attname::text ORDER BY c.attnum), '{}') INTO filter_columns
        FROM pg_depend AS d
        INNER JOIN pg_attribute AS c ON c.attrelid = d.refobjid AND c.attnum = d.refobjsubid
        WHERE d.classid = 'pg_class'::regclass AND d.objid = index_id
            AND d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0;
        SELECT string_agg(pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid), ', ')
        INTO made_by_users
        FROM pg_depend AS d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = index_id
            AND (d.refclassid, d.refobjid)
                <> ('pg_class'::regclass, 'pg_temp.pgblend_filtered'::regclass)
            AND NOT EXISTS (
                SELECT FROM pg_type AS t
                WHERE d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
                    AND t.typtype = 'e');
        is_judged := true;
        RAISE EXCEPTION 'undo';
    EXCEPTION WHEN OTHERS THEN
        IF NOT is_judged THEN
            problem := format('row_filter is %s: %s', left(condition, 200),
                replace(SQLERRM, 'index predicate', 'row_filter'));
        END IF;
    END;
    IF made_by_users IS NOT NULL THEN
        problem := format('row_filter uses %s: expected operators and functions of PostgreSQL''s '
            'own, and enums', made_by_users);
    END IF;
END;
$function$;
