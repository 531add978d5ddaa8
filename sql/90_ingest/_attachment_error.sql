-- _attachment_error: why a table cannot be attached in this way, NULL where it can.
-- What the caller may not read is not indexed for others: a table that it cannot read, or only
-- part of which row security shows it.
CREATE OR REPLACE FUNCTION pgblend._attachment_error(wanted pgblend_data.attached_table)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    relation pg_class;
BEGIN
    SELECT c.* INTO STRICT relation FROM pg_class AS c WHERE c.oid = wanted.relation;
    IF relation.relkind NOT IN ('r', 'p') OR relation.relpersistence = 't'
        OR relation.relnamespace::regnamespace::text IN (
            'blend', 'pgblend', 'pgblend_data', 'pg_catalog', 'information_schema')
    THEN
        RETURN format('%s is no table of a user''s: expected a plain or a partitioned table',
            wanted.relation);
    ELSIF relation.relkind = 'r' AND NOT relation.relispartition AND EXISTS (
        SELECT FROM pg_inherits AS i WHERE wanted.relation IN (i.inhrelid, i.inhparent))
    THEN
        RETURN format('%s inherits or is inherited: expected a plain or a partitioned table',
            wanted.relation);
    ELSIF NOT has_table_privilege(wanted.relation, 'SELECT') THEN
        RETURN format('%s may not read %s', current_user, wanted.relation);
    ELSIF row_security_active(wanted.relation) THEN
        RETURN format('row security hides rows of %s from %s', wanted.relation, current_user);
    ELSIF coalesce(cardinality(wanted.text_columns), 0) = 0 THEN
        RETURN 'text_columns is empty: expected the columns that are searched';
    ELSIF (pgblend._attachment_queries(wanted)).problem IS NOT NULL THEN
        RETURN (pgblend._attachment_queries(wanted)).problem;
    ELSIF coalesce(cardinality(wanted.key_columns), 0) = 0 THEN
        RETURN format('%s has no primary key: expected key_columns with a unique index',
            wanted.relation);
    ELSIF NOT EXISTS (
        SELECT FROM pg_index AS i
        WHERE i.indrelid = wanted.relation AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
            AND i.indexprs IS NULL AND i.indnkeyatts = cardinality(wanted.key_columns)
            AND NOT EXISTS (
                SELECT FROM generate_series(0, i.indnkeyatts - 1) AS p (place)
                INNER JOIN pg_attribute AS c
                    ON c.attrelid = i.indrelid AND c.attnum = i.indkey[p.place]
                WHERE c.attname <> ALL(wanted.key_columns) OR NOT c.attnotnull))
    THEN
        RETURN format('key_columns of %s is (%s): expected columns that are NOT NULL and have a '
            'unique index', wanted.relation, array_to_string(wanted.key_columns, ', '));
    END IF;
    RETURN NULL;
END;
$function$;
