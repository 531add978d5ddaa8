-- _keep_attachment: let the wanted attachment be that of its table; returns its number.
-- Runs with its owner's rights, since nobody else writes what triggers and readers of attached
-- tables believe, or makes such triggers. The table is one that _not_attachable allows whoever
-- asks. Its row filter is evaluated with the rights of the table's owner alone (_read_as_owner),
-- whom who asks may become: so it is not judged once more.
CREATE OR REPLACE FUNCTION pgblend._keep_attachment(wanted pgblend_data.attached_table)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    who name := pgblend._asking_role();
    problem text := pgblend._not_attachable(who, wanted.relation);
    named text := wanted.relation;
    old pgblend_data.attached_table;
    how record;
BEGIN
    IF problem IS NULL THEN
        -- Calls in text: none (a user's table).
        EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', named);
        problem := pgblend._not_attachable(who, wanted.relation);
    END IF;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION '%', problem USING ERRCODE = '42501';
    ELSIF wanted.relation::text <> named THEN
        RAISE EXCEPTION '% was renamed meanwhile', named USING ERRCODE = '40001';
    END IF;
    FOR old IN DELETE FROM pgblend_data.attached_table AS a
        WHERE a.relation = wanted.relation OR a.collection_id = wanted.collection_id
            AND NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = a.relation)
        RETURNING a.*
    LOOP
        PERFORM pgblend._drop_table_triggers(old);
    END LOOP;
    -- What lesser roles say of kept SQL, partitions or the kind of relation is not believed.
    wanted.id := NULL;
    wanted.partitions := pgblend._partitions(wanted.relation);
    PERFORM pgblend._drop_table_triggers(wanted);
    wanted.table_owner := (
        SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = wanted.relation);
    wanted.is_view := (SELECT c.relkind = 'v' FROM pg_class AS c WHERE c.oid = wanted.relation);
    how := pgblend._attachment_queries(wanted);
    IF how.problem IS NOT NULL THEN
        RAISE EXCEPTION '%', how.problem USING ERRCODE = '42703';
    END IF;
    INSERT INTO pgblend_data.attached_table (
        relation, table_name, collection_id, made_collection, key_columns, text_columns,
        title_column, metadata_columns, uri_column, modified_column, tenant_column, rights_column,
        row_filter, filter_columns, text_format, embedding_column, space, embed_long_rows,
        table_owner, row_level, is_view, shape, key_of, relevant, foreign_keys, partitions)
    VALUES (
        wanted.relation, wanted.table_name, wanted.collection_id, wanted.made_collection,
        wanted.key_columns, wanted.text_columns, wanted.title_column, wanted.metadata_columns,
        wanted.uri_column, wanted.modified_column, wanted.tenant_column, wanted.rights_column,
        wanted.row_filter, wanted.filter_columns, wanted.text_format, wanted.embedding_column,
        wanted.space, coalesce(wanted.embed_long_rows, false), wanted.table_owner,
        wanted.row_level, wanted.is_view,
        pgblend._table_shape(wanted.relation), how.key_of, how.relevant,
        pgblend._foreign_key_names(wanted.relation), wanted.partitions)
    RETURNING id INTO wanted.id;
    IF NOT wanted.is_view THEN
        PERFORM pgblend._follow_relations(wanted);
    END IF;
    RETURN wanted.id;
END;
$function$;

-- _row_filter: a condition on rows of a relation as PostgreSQL writes it, and the columns that it
-- reads; or what hinders it.
-- It may hold operators and functions of PostgreSQL's own that are immutable, and values of enums:
-- what the predicate of an index may hold, less all that users make. PostgreSQL itself judges it,
-- as the predicate of an index on an empty table with the same columns, which is undone. Columns
-- of other types than PostgreSQL's own and enums are not there: to read a literal of such a type
-- may be to run a user's code. Neither is money, whose text depends on the session. Runs with the
-- rights of whoever attaches. Texts are parsed and printed alike, whatever the session's settings.
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
SET standard_conforming_strings = on
SET array_nulls = on
SET transform_null_equals = off
SET extra_float_digits = 1
SET bytea_output = 'hex'
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
                AND (t.oid < first_of_users OR t.typtype = 'e') AND t.oid <> 'money'::regtype));
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

-- _not_attachable: why a role cannot attach a relation, whatever its columns; NULL where it can.
-- It is read with its owner's rights, and a table gets triggers: so it is a table, plain or
-- partitioned, or a view, of an owner that the role may become. Others' views would show what their
-- owners may see.
CREATE OR REPLACE FUNCTION pgblend._not_attachable(who name, wanted regclass)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    relation pg_class;
BEGIN
    SELECT c.* INTO relation FROM pg_class AS c WHERE c.oid = wanted;
    IF NOT FOUND OR relation.relkind NOT IN ('r', 'p', 'v') OR relation.relpersistence = 't'
        OR EXISTS (
            SELECT FROM pg_namespace AS n WHERE n.oid = relation.relnamespace AND n.nspname IN (
                'blend', 'pgblend', 'pgblend_data', 'pg_catalog', 'information_schema'))
    THEN
        RETURN format('%s is not a user''s table: expected a plain or a partitioned table, or a '
            'view', wanted);
    ELSIF relation.relkind = 'r' AND NOT relation.relispartition AND EXISTS (
        SELECT FROM pg_inherits AS i WHERE wanted IN (i.inhrelid, i.inhparent))
    THEN
        RETURN format('%s inherits or is inherited: expected a plain or a partitioned table',
            wanted);
    ELSIF NOT pgblend._may_become(who, relation.relowner) THEN
        RETURN CASE
            WHEN NOT has_table_privilege(who, wanted, 'SELECT')
                THEN format('%s may not read %s', who, wanted)
            WHEN NOT pgblend._may_read_rows(who, wanted)
                THEN format('row security hides rows of %s from %s', wanted, who)
            ELSE format('%s belongs to %s: expected a table of a role that %s may become',
                wanted, pg_get_userbyid(relation.relowner), who) END;
    END IF;
    RETURN NULL;
END;
$function$;
