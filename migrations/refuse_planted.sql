-- Refuse what lesser roles made where others would read or run it: our schemas, and what is in
-- them; for a superuser also routines and operators that ours would call, with names of pg_catalog
-- or of the extensions', and types that fit better. None comes in the rest of the transaction.
-- A session is a superuser's whatever role it has taken, since whoever's code runs there may leave
-- the role. The role that a database's owner has all sessions take is nobody's own choice.
-- Where there is no PL/Python, no superuser made what is here: whoever is none trusts the roles that
-- have the database, its owner's members, unless made one by it. These are guarded as superusers
-- are, but lock nothing.
DO $planted$
DECLARE
    former CONSTANT pg_catalog.text := pg_catalog.current_setting('search_path');
    usual CONSTANT pg_catalog.name[] := pg_catalog.current_schemas(false);
    caller pg_catalog.name := CURRENT_USER;
    is_superuser boolean;
    owners pg_catalog.oid[];
    trusted pg_catalog.oid[];
    ours pg_catalog.oid[];
    looked_into pg_catalog.oid[];
    found pg_catalog.text;
BEGIN
    SET LOCAL search_path = pg_catalog, pg_temp;
    is_superuser := EXISTS (
        SELECT FROM pg_roles AS r WHERE r.rolname IN (CURRENT_USER, SESSION_USER) AND r.rolsuper);
    IF CURRENT_USER <> SESSION_USER AND EXISTS (
        SELECT FROM pg_db_role_setting AS s
        CROSS JOIN unnest(s.setconfig) AS c (setting)
        WHERE s.setrole = 0 AND s.setdatabase = (
                SELECT b.oid FROM pg_database AS b WHERE b.datname = current_database())
            AND c.setting ~* '^(role|session_authorization)=')
    THEN
        IF is_superuser THEN
            RAISE EXCEPTION 'whoever connects to this database becomes %: a superuser''s session would '
                'run code of others, which may take the superuser''s rights again', CURRENT_USER
                USING ERRCODE = 'insufficient_privilege',
                HINT = format('ALTER DATABASE %I RESET role; single roles may still be given one: '
                    'ALTER ROLE ... SET role', current_database());
        END IF;
        caller := SESSION_USER;
    END IF;
    IF is_superuser THEN
        LOCK TABLE pg_proc, pg_operator IN SHARE ROW EXCLUSIVE MODE;
    END IF;
    owners := ARRAY(
        SELECT r.oid FROM pg_roles AS r
        INNER JOIN pg_database AS b ON pg_has_role(r.oid, b.datdba, 'MEMBER')
        WHERE b.datname = current_database() AND NOT is_superuser AND caller = CURRENT_USER
            AND NOT EXISTS (SELECT FROM pg_language AS l WHERE l.lanname = 'plpython3u'));
    trusted := ARRAY(
        SELECT r.oid FROM pg_roles AS r
        WHERE r.rolsuper OR r.oid = ANY(owners) OR NOT is_superuser AND r.rolname = caller);
    ours := array_remove(ARRAY[to_regnamespace('blend'), to_regnamespace('pgblend'),
        to_regnamespace('pgblend_data')]::oid[], NULL);
    SELECT string_agg(format('%s %s of %I', i.type, i.identity, r.rolname), ', '
        ORDER BY o.classid <> 'pg_namespace'::regclass, i.identity)
    INTO found
    FROM (
        SELECT 'pg_namespace'::regclass AS classid, unnest(ours) AS objid
        UNION ALL
        SELECT d.classid, d.objid FROM pg_depend AS d
        WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = ANY(ours)
    ) AS o
    INNER JOIN pg_shdepend AS s
        ON s.classid = o.classid AND s.objid = o.objid AND s.deptype = 'o' AND s.dbid = (
            SELECT b.oid FROM pg_database AS b WHERE b.datname = current_database())
    INNER JOIN pg_roles AS r ON s.refobjid = r.oid AND r.oid <> ALL(trusted)
    CROSS JOIN LATERAL pg_identify_object(o.classid, o.objid, 0) AS i
    -- The readers of attached tables belong to the tables' owners (_ensure_reader).
    WHERE NOT EXISTS (
        SELECT FROM pg_proc AS p
        WHERE o.classid = 'pg_proc'::regclass AND p.oid = o.objid AND p.prosecdef
            AND p.pronamespace = to_regnamespace('pgblend_data')
            AND p.proname ~ '^_read_attached_[0-9]+$');
    IF found IS NOT NULL THEN
        RAISE EXCEPTION 'what is to be pgblend''s belongs to others, no superusers: %',
            left(found, 1000)
            USING ERRCODE = 'insufficient_privilege',
            HINT = 'Their owners may change and drop it with all documents: look at what is in it, then '
                'DROP it, or ALTER ... OWNER TO a superuser.';
    END IF;
    IF EXISTS (
        SELECT FROM pg_class AS c
        WHERE c.relname = 'alembic_version' AND c.relnamespace = to_regnamespace('pgblend_data') AND (
            c.relkind <> 'r' OR c.relrowsecurity OR c.relhassubclass OR c.relnatts <> 1
            OR EXISTS (SELECT FROM pg_rewrite AS w WHERE w.ev_class = c.oid)
            OR EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = c.oid)
            OR EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid)
            OR EXISTS (
                SELECT FROM pg_attribute AS a
                WHERE a.attrelid = c.oid AND a.attnum > 0
                    AND (a.atttypid <> 'varchar'::regtype OR a.atthasdef))))
    THEN
        RAISE EXCEPTION 'pgblend_data.alembic_version is not the table that migrations made'
            USING ERRCODE = 'insufficient_privilege',
            HINT = 'Expected a plain table of one column, without rules, triggers or policies: see who '
                'made it, and drop it.';
    END IF;
    IF is_superuser OR quote_ident(caller)::regrole = ANY(owners) THEN
        looked_into := ours || ARRAY(
            SELECT e.extnamespace FROM pg_extension AS e
            WHERE e.extname IN ('vector', 'pg_trgm', 'plpython3u')
            UNION SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = ANY(usual));
        -- Owners first: few own anything, and the rest takes several look-ups for each of thousands.
        WITH others AS MATERIALIZED (
            SELECT o.oid, o.namespace, o.classid, o.name, r.rolname
            FROM (
                SELECT p.oid, p.proowner AS owner, p.pronamespace AS namespace,
                    'pg_proc'::regclass AS classid, p.proname AS name
                FROM pg_proc AS p
                UNION ALL
                SELECT o.oid, o.oprowner, o.oprnamespace, 'pg_operator'::regclass, o.oprname
                FROM pg_operator AS o
            ) AS o
            -- Members of extensions are no exception: who owns a trusted one adds others to it.
            INNER JOIN pg_roles AS r ON r.oid = o.owner AND r.oid <> ALL(trusted)
        )
        SELECT string_agg(format('%s of %I', i.identity, o.rolname), ', ' ORDER BY i.identity)
        INTO found
        FROM others AS o
        CROSS JOIN LATERAL (
            SELECT CASE WHEN o.classid = 'pg_proc'::regclass THEN o.oid::regprocedure::text
                ELSE o.oid::regoperator::text END) AS i (identity)
        WHERE o.namespace = ANY(looked_into) AND EXISTS (
            SELECT FROM pg_proc AS c
            WHERE o.classid = 'pg_proc'::regclass AND c.proname = o.name
                AND (c.pronamespace = 'pg_catalog'::regnamespace OR EXISTS (
                    SELECT FROM pg_depend AS d INNER JOIN pg_extension AS e ON e.oid = d.refobjid
                    WHERE d.classid = 'pg_proc'::regclass AND d.objid = c.oid
                        AND d.refclassid = 'pg_extension'::regclass
                        AND e.extname IN ('vector', 'pg_trgm')))
            UNION ALL
            SELECT FROM pg_operator AS c
            WHERE o.classid = 'pg_operator'::regclass AND c.oprname = o.name
                AND (c.oprnamespace = 'pg_catalog'::regnamespace OR EXISTS (
                    SELECT FROM pg_depend AS d INNER JOIN pg_extension AS e ON e.oid = d.refobjid
                    WHERE d.classid = 'pg_operator'::regclass AND d.objid = c.oid
                        AND d.refclassid = 'pg_extension'::regclass
                        AND e.extname IN ('vector', 'pg_trgm'))));
        IF found IS NOT NULL THEN
            RAISE EXCEPTION '% would run code of others: %', CASE WHEN is_superuser
                THEN 'a superuser' ELSE 'the owner of the database' END, left(found, 1000)
                USING ERRCODE = 'insufficient_privilege',
                HINT = 'They have names of pg_catalog or of an extension, in a schema that pgblend looks '
                    'into: drop them, or ALTER ... SET SCHEMA; then REVOKE CREATE ON SCHEMA ... FROM '
                    'whoever need not create there.';
        END IF;
    END IF;
    PERFORM set_config('search_path', former, true);
END
$planted$;
