-- check_attached_tables: what is wrong with attached tables, and how to mend it; no row where all
-- is well.
-- It reads and counts the rows of tables that the caller may read. No cursor is open meanwhile:
-- code of a table's owner could fetch its rows.
CREATE OR REPLACE FUNCTION blend.check_attached_tables()
RETURNS TABLE (table_name text, problem text, mend text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
AS $function$
DECLARE
    attached record;
    how record;
    foreign_keys text[];
BEGIN
    FOREACH attached IN ARRAY ARRAY(
        SELECT a FROM pgblend_data.attached_table AS a ORDER BY a.table_name)
    LOOP
        table_name := attached.table_name;
        how := pgblend._attachment_queries(attached);
        IF how.problem IS NOT NULL THEN
            IF EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.oid = attached.relation) THEN
                problem := how.problem || ': changes are not followed';
                mend := format('attach it anew, with its columns as they are: %s',
                    pgblend._attach_call(attached));
            ELSIF pgblend._user_table(table_name) IS NOT NULL THEN
                problem := format(
                    'the table %s was dropped and restored: changes are not followed', table_name);
                mend := format('attach it again, documents and vectors stay: %s',
                    pgblend._attach_call(attached));
            ELSE
                problem := how.problem;
                mend := format('restore it and attach it again, documents and vectors stay: %s. Or '
                    'forget its documents: SELECT detach_table(%L)',
                    pgblend._attach_call(attached), table_name);
            END IF;
            RETURN NEXT;
            CONTINUE;
        END IF;
        FOR problem IN SELECT t.problem FROM pgblend._trigger_problems(attached) AS t LOOP
            mend := format('attach it anew: %s', pgblend._attach_call(attached));
            RETURN NEXT;
        END LOOP;
        mend := format(
            'run: pgblend table fill %s%s', attached.relation,
            CASE WHEN attached.filled THEN ' --anew' ELSE '' END);
        IF NOT attached.filled THEN
            problem := coalesce(attached.problem || ', so it is to be filled anew',
                'not all rows are in yet');
            RETURN NEXT;
            CONTINUE;
        END IF;
        problem := pgblend._partition_changes(attached);
        IF problem IS NOT NULL THEN
            mend := format('run: pgblend worker, or once: pgblend table fill %s --anew',
                attached.relation);
            RETURN NEXT;
            CONTINUE;
        END IF;
        foreign_keys := pgblend._foreign_key_names(attached.relation);
        problem := concat_ws(', and ',
            'foreign keys came that older rows have no edges of: ' || (
                SELECT string_agg(f.name, ', ' ORDER BY f.name)
                FROM unnest(foreign_keys) AS f (name)
                WHERE f.name <> ALL(attached.foreign_keys)),
            'foreign keys went that older rows have edges of: ' || (
                SELECT string_agg(f.name, ', ' ORDER BY f.name)
                FROM unnest(attached.foreign_keys) AS f (name)
                WHERE f.name <> ALL(foreign_keys)));
        IF problem <> '' THEN
            RETURN NEXT;
        END IF;
        FOR problem IN SELECT w.problem FROM pgblend._waiting_changes(attached) AS w LOOP
            mend := 'run: pgblend worker, or once: pgblend shards push';
            RETURN NEXT;
        END LOOP;
        IF problem IS NULL AND has_table_privilege(attached.relation, 'SELECT') THEN
            problem := pgblend._unlike_rows(attached);
            IF problem IS NOT NULL THEN
                RETURN NEXT;
            END IF;
        END IF;
    END LOOP;
END;
$function$;

-- _unlike_rows: how many rows of an attached table have no document, and documents no row; NULL
-- where all agree.
CREATE OR REPLACE FUNCTION pgblend._unlike_rows(attached pgblend_data.attached_table)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    missing bigint;
    orphans bigint;
BEGIN
    SELECT count(*) FILTER (WHERE d.source_key IS NULL), count(*) FILTER (WHERE r.key IS NULL)
    INTO missing, orphans
    FROM pgblend._attached_rows(attached, 'keys', NULL, NULL) AS r
    FULL JOIN (
        SELECT e.source_key FROM pgblend_data.document AS e
        WHERE e.collection_id = ANY(pgblend._compartments(attached.collection_id))
    ) AS d ON d.source_key = r.key;
    IF missing + orphans > 0 THEN
        RETURN format('%s rows are not indexed, %s documents have no row', missing, orphans);
    END IF;
    RETURN NULL;
END;
$function$;

-- _trigger_problems: which triggers an attached table lacks, or has disabled.
CREATE OR REPLACE FUNCTION pgblend._trigger_problems(attached pgblend_data.attached_table)
RETURNS TABLE (problem text)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 1
AS $function$
BEGIN
    RETURN QUERY
    WITH wanted AS (
        SELECT c.oid AS relation, w.name
        FROM unnest(attached.relation || attached.partitions) AS p (relid)
        INNER JOIN pg_catalog.pg_class AS c ON c.oid = p.relid AND c.relkind IN ('r', 'p')
        CROSS JOIN unnest(
            '{pgblend_rows,pgblend_delete,pgblend_insert,pgblend_update,pgblend_truncate}'::text[]
        ) AS w (name)
        WHERE (c.oid = attached.relation OR c.oid = ANY(pgblend._partitions(attached.relation)))
            AND CASE w.name
                WHEN 'pgblend_truncate' THEN true
                WHEN 'pgblend_rows' THEN c.oid = attached.relation
                    AND (attached.row_level OR c.relkind = 'p')
                ELSE NOT attached.row_level END
    )
    SELECT format('%s%s of %s',
        CASE WHEN t.oid IS NULL THEN 'there is no trigger ' ELSE 'disabled: ' END,
        w.name, w.relation::regclass)
    FROM wanted AS w
    LEFT JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = w.relation AND t.tgname = w.name
    WHERE t.oid IS NULL OR t.tgenabled = 'D' OR t.tgenabled <> 'A'
        AND (attached.row_level OR attached.partitions <> '{}')
    UNION ALL
    SELECT format('%s has a subscription or a foreign table, which statement triggers miss: expected '
        'attach_table(…, row_level => true)', attached.relation)
    WHERE NOT attached.row_level AND pgblend._needs_row_triggers(attached.relation)
    UNION ALL
    SELECT format('%s is inherited by %s, whose changes are not followed: expected ALTER TABLE … '
        'NO INHERIT', attached.relation, string_agg(i.inhrelid::regclass::text, ', '))
    FROM pg_catalog.pg_inherits AS i
    INNER JOIN pg_catalog.pg_class AS c ON c.oid = i.inhparent AND c.relkind = 'r'
    WHERE i.inhparent = attached.relation
    HAVING count(*) > 0
    ORDER BY 1;
END;
$function$;

-- _waiting_changes: how many changes of an attached table wait for shards, and since when; no rows
-- where none does, and on one node.
CREATE OR REPLACE FUNCTION pgblend._waiting_changes(attached pgblend_data.attached_table)
RETURNS TABLE (problem text)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 1
AS $function$
BEGIN
    RETURN QUERY
    SELECT format('%s changes wait for shard %s, the oldest since %s',
        count(*), s.name, to_char(min(o.noted_at), 'YYYY-MM-DD HH24:MI:SSOF'))
    FROM pgblend_data.shard_outbox AS o
    INNER JOIN pgblend_data.shard_bucket AS b ON o.bucket = b.bucket
    INNER JOIN pgblend_data.shard AS s ON b.shard = s.number
    WHERE o.collection_id = attached.collection_id
    GROUP BY s.number, s.name
    ORDER BY s.number;
END;
$function$;

-- _attach_call: SQL that attaches a table again as it is attached.
CREATE OR REPLACE FUNCTION pgblend._attach_call(attached pgblend_data.attached_table)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    RETURN (
        SELECT format('SELECT * FROM attach_table(%s)', string_agg(
            CASE WHEN g.name = '' THEN g.value ELSE format('%s => %s', g.name, g.value) END, ', '
            ORDER BY g.place))
        FROM (VALUES
            (1, '', quote_literal(CASE
                WHEN EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.oid = attached.relation)
                    THEN attached.relation::text
                ELSE attached.table_name END)),
            (2, 'text_columns', quote_literal(attached.text_columns)),
            (3, 'title_column', quote_literal(attached.title_column)),
            (4, 'metadata_columns', quote_literal(nullif(attached.metadata_columns, '{}'))),
            (5, 'collection', (
                SELECT quote_literal(c.name) FROM pgblend_data.collection AS c
                WHERE c.id = attached.collection_id)),
            (6, 'key_columns', quote_literal(attached.key_columns)),
            (7, 'uri_column', quote_literal(attached.uri_column)),
            (8, 'modified_column', quote_literal(attached.modified_column)),
            (9, 'row_level', CASE WHEN attached.row_level THEN 'true' END),
            (10, 'row_filter', quote_literal(attached.row_filter)),
            (11, 'text_format', quote_literal(nullif(attached.text_format, 'plain'))),
            (12, 'tenant_column', quote_literal(attached.tenant_column)),
            (13, 'embedding_column', quote_literal(attached.embedding_column)),
            (14, 'embedding_model', (
                SELECT quote_literal(s.model) FROM pgblend_data.embedding_space AS s
                WHERE s.name = attached.space)),
            (15, 'embed_long_rows', CASE WHEN attached.embed_long_rows THEN 'true' END),
            (16, 'rights_column', quote_literal(attached.rights_column))
        ) AS g (place, name, value)
        WHERE g.value IS NOT NULL);
END;
$function$;
