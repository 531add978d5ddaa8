-- _needs_row_triggers: whether statement triggers would miss changes of a table.
-- They do where rows are written to partitions, and in the apply worker of a subscription.
CREATE OR REPLACE FUNCTION pgblend._needs_row_triggers(relation regclass)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT bool_or(c.relkind = 'p' OR c.relispartition OR s.srrelid IS NOT NULL)
    FROM pg_catalog.pg_class AS c
    LEFT JOIN pg_catalog.pg_subscription_rel AS s ON c.oid = s.srrelid
    WHERE c.oid = _needs_row_triggers.relation;
END;
