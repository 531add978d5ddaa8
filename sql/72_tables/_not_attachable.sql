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
        OR relation.relnamespace::regnamespace::text IN (
            'blend', 'pgblend', 'pgblend_data', 'pg_catalog', 'information_schema')
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
