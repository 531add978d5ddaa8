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
