-- _foreign_key_names: the names of a table's foreign keys, in order; an empty array where it has
-- none.
CREATE OR REPLACE FUNCTION pgblend._foreign_key_names(relation regclass)
RETURNS text[]
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT f.constraint_name FROM pgblend._foreign_keys(_foreign_key_names.relation) AS f
    ORDER BY f.constraint_name COLLATE "C"
);

-- _foreign_keys: the foreign keys of a table: what they reference, and SQL over its rows t for the
-- source key of the referenced row, NULL where the foreign key is.
-- Columns are in the order of the referenced index, which is that of a key by default. Texts are
-- made anew as values of the referenced columns' types where these are of _key_types. Values of
-- others are their text, since a cast of a user's type may be code of that user.
CREATE OR REPLACE FUNCTION pgblend._foreign_keys(relation regclass)
RETURNS TABLE (
    constraint_name text,
    own_columns text[],
    target regclass,
    target_columns text[],
    target_key text
)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 5
AS $function$
BEGIN
    RETURN QUERY
    SELECT k.constraint_name, array_agg(k.own_column ORDER BY k.place), k.target,
        array_agg(k.target_column ORDER BY k.place),
        CASE
            WHEN count(*) > 1 THEN format(
                'CASE WHEN num_nulls(%s) = 0 THEN jsonb_build_array(%s)::text END',
                string_agg(format('t.%I', k.own_column), ', '),
                string_agg(k.value, ', ' ORDER BY k.place))
            WHEN min(k.value) ~ '::(date|timestamp)[^:]*$'
                THEN format('to_jsonb(%s) #>> ''{}''', min(k.value))
            ELSE format('%s::text', min(k.value))
        END
    FROM (
        SELECT n.oid, n.conname::text AS constraint_name, n.confrelid::regclass AS target,
            own.attname::text AS own_column, other.attname::text AS target_column,
            array_position(i.indkey::smallint[], c.target_number) AS place,
            -- Any whole number is an int8: it might not fit where the constraint is NOT VALID.
            pgblend._column_text(own.attname, own.atttypid) || CASE
                WHEN other.atttypid = ANY('{int2,int4,int8}'::regtype[])
                    AND pgblend._base_type(own.atttypid) = ANY('{int2,int4,int8}'::regtype[])
                    THEN '::pg_catalog.int8'
                WHEN other.atttypid = ANY('{int2,int4,int8}'::regtype[]) THEN ''
                WHEN other.atttypid = ANY(pgblend._key_types()) THEN format(
                    '::%s', format_type(other.atttypid, other.atttypmod))
                ELSE '' END AS value
        FROM pg_constraint AS n
        CROSS JOIN LATERAL unnest(n.conkey, n.confkey) AS c (own_number, target_number)
        INNER JOIN pg_index AS i ON i.indexrelid = n.conindid
        INNER JOIN pg_attribute AS own
            ON own.attrelid = n.conrelid AND own.attnum = c.own_number
        INNER JOIN pg_attribute AS other
            ON other.attrelid = n.confrelid AND other.attnum = c.target_number
        WHERE n.contype = 'f' AND n.conrelid = relation
            -- Those that lead to single partitions of a table stand for a part of one to it.
            AND NOT EXISTS (
                SELECT FROM pg_constraint AS p
                WHERE p.oid = n.conparentid AND p.conrelid = n.conrelid)
    ) AS k
    GROUP BY k.oid, k.constraint_name, k.target
    ORDER BY k.constraint_name;
END;
$function$;
