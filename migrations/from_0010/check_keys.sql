-- Rows that a new key does not allow are left as they are, and told; new ones are refused.

DO $do$
DECLARE
    tied record;
    broken text;
BEGIN
    FOR tied IN
        SELECT k.conname,
            format('pgblend_data.%I', child.relname) AS child,
            format('pgblend_data.%I', parent.relname) AS parent,
            string_agg('c.' || quote_ident(c.attname), ', ' ORDER BY n.place) AS columns,
            string_agg('p.' || quote_ident(p.attname), ', ' ORDER BY n.place) AS parent_columns
        FROM pg_catalog.pg_constraint AS k
        INNER JOIN pg_catalog.pg_class AS child ON child.oid = k.conrelid
        INNER JOIN pg_catalog.pg_class AS parent ON parent.oid = k.confrelid
        CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS n (own, other, place)
        INNER JOIN pg_catalog.pg_attribute AS c ON c.attrelid = k.conrelid AND c.attnum = n.own
        INNER JOIN pg_catalog.pg_attribute AS p ON p.attrelid = k.confrelid AND p.attnum = n.other
        WHERE k.contype = 'f' AND NOT k.convalidated
            AND k.connamespace = 'pgblend_data'::regnamespace
        GROUP BY k.oid, child.oid, parent.oid
        ORDER BY k.conname
    LOOP
        EXECUTE format(
            'SELECT string_agg(b.found::text, '', '') FROM (
                SELECT (%2$s) AS found FROM %1$s AS c
                WHERE NOT EXISTS (SELECT FROM %3$s AS p WHERE (%4$s) = (%2$s))
                LIMIT 20) AS b',
            tied.child, tied.columns, tied.parent, tied.parent_columns) INTO broken;
        IF broken IS NULL THEN
            EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', tied.child, tied.conname);
        ELSE
            RAISE WARNING 'rows of % belong to no row of %: (%) of %',
                tied.child, tied.parent, tied.columns, broken
                USING HINT = format(
                    'Delete or mend them, then: ALTER TABLE %s VALIDATE CONSTRAINT %I',
                    tied.child, tied.conname);
        END IF;
    END LOOP;
END
$do$;
