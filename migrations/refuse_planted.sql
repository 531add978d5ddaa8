-- Refuse routines and operators of lesser roles that ours would call: names of pg_catalog, with types
-- that fit better, in a schema that ours look into. None comes in the rest of the transaction.
DO $planted$
DECLARE
    former CONSTANT text := pg_catalog.current_setting('search_path');
    found text;
BEGIN
    SET LOCAL search_path = pg_catalog, pg_temp;
    LOCK TABLE pg_proc, pg_operator IN SHARE ROW EXCLUSIVE MODE;
    SELECT string_agg(format('%s of %I', o.identity, r.rolname), ', ' ORDER BY o.identity) INTO found
    FROM (
        SELECT p.oid::regprocedure::text AS identity, p.oid, p.proowner AS owner,
            p.pronamespace AS namespace
        FROM pg_proc AS p
        WHERE p.proname IN (
            SELECT c.proname FROM pg_proc AS c WHERE c.pronamespace = 'pg_catalog'::regnamespace)
        UNION ALL
        SELECT o.oid::regoperator::text, o.oid, o.oprowner, o.oprnamespace
        FROM pg_operator AS o
        WHERE o.oprname IN (
            SELECT c.oprname FROM pg_operator AS c
            WHERE c.oprnamespace = 'pg_catalog'::regnamespace)
    ) AS o
    INNER JOIN pg_roles AS r ON r.oid = o.owner AND NOT r.rolsuper
    WHERE (
        o.namespace IN (
            to_regnamespace('blend'), to_regnamespace('pgblend'), to_regnamespace('pgblend_data'))
        OR o.namespace IN (
            SELECT e.extnamespace FROM pg_extension AS e WHERE e.extname IN ('vector', 'pg_trgm'))
    )
    AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.objid = o.oid AND d.deptype = 'e');
    IF found IS NOT NULL THEN
        RAISE EXCEPTION 'a superuser would run code of others: %', left(found, 1000)
            USING ERRCODE = 'insufficient_privilege',
            HINT = 'They have names of pg_catalog, in a schema that pgblend looks into: drop them, or '
                'ALTER … SET SCHEMA; then REVOKE CREATE ON SCHEMA … FROM whoever need not create there.';
    END IF;
    PERFORM set_config('search_path', former, true);
END
$planted$;
