-- _primary_key: the columns of a table's primary key, in its order; NULL where it has none.
CREATE OR REPLACE FUNCTION pgblend._primary_key(relation regclass)
RETURNS text[]
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT array_agg(c.attname::text ORDER BY k.place)
    FROM pg_catalog.pg_constraint AS n
    CROSS JOIN LATERAL unnest(n.conkey) WITH ORDINALITY AS k (number, place)
    INNER JOIN pg_catalog.pg_attribute AS c ON n.conrelid = c.attrelid AND k.number = c.attnum
    WHERE n.conrelid = _primary_key.relation AND n.contype = 'p';
END;
