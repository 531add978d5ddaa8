-- _stale_tables: attached tables that are to be filled, and whether with all rows anew: those whose
-- partitions came or went, and those that are not filled yet.
-- Only those that the caller may fill.
CREATE OR REPLACE FUNCTION pgblend._stale_tables()
RETURNS TABLE (table_name text, anew boolean)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 1
AS $function$
BEGIN
    RETURN QUERY
    SELECT a.relation::text, pgblend._partition_changes(a) IS NOT NULL
    FROM pgblend_data.attached_table AS a
    WHERE (NOT a.filled OR pgblend._partition_changes(a) IS NOT NULL)
        AND pgblend._may_read_rows(pgblend._asking_role(), a.relation)
        AND (pgblend._attachment_queries(a)).problem IS NULL
    ORDER BY a.id;
END;
$function$;

-- _partition_changes: which partitions an attached table got or lost since all its rows were read;
-- NULL where none.
CREATE OR REPLACE FUNCTION pgblend._partition_changes(attached pgblend_data.attached_table)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    parts regclass[] := pgblend._partitions(attached.relation);
BEGIN
    RETURN nullif(concat_ws(', and ',
        'partitions came, with rows that may not be indexed: ' || (
            SELECT string_agg(p.part::text, ', ' ORDER BY p.part::text)
            FROM unnest(parts) AS p (part) WHERE p.part <> ALL(attached.partitions)),
        (SELECT format('%s partitions went: their rows are still found', count(*))
            FROM unnest(attached.partitions) AS p (part) WHERE p.part <> ALL(parts)
            HAVING count(*) > 0)), '');
END;
$function$;

-- _partitions: all that a table's rows are in beside itself: partitions and tables that
-- inherit; an empty array where there are none.
CREATE OR REPLACE FUNCTION pgblend._partitions(relation oid)
RETURNS regclass[]
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE below AS (
        SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i
        WHERE i.inhparent = _partitions.relation AND NOT i.inhdetachpending
        UNION
        SELECT i.inhrelid
        FROM pg_catalog.pg_inherits AS i
        INNER JOIN below AS b ON i.inhparent = b.inhrelid
        WHERE NOT i.inhdetachpending
    )

    SELECT coalesce(array_agg(b.inhrelid::regclass), '{}') FROM below AS b;
END;

-- _user_table: the relation of that name, as SQL reads names; NULL where there is none.
-- Without a schema it is one of public: a routine's search_path is not its caller's. What is no
-- name is an error.
CREATE OR REPLACE FUNCTION pgblend._user_table(table_name text)
RETURNS regclass
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN CASE
    WHEN cardinality(parse_ident(table_name)) = 1 THEN to_regclass('public.' || table_name)
    ELSE to_regclass(table_name)
END;
