-- Who sees and changes which rows. Rights on tables are given in sql/99_access.

-- A grant of either kind lets a role see; pg_has_role makes members of a granted role see as well.
-- A role made later under the name of one that was dropped has another number, and no grant of it.
-- Numbers mean nothing on another server: what was restored there counts by name, until
-- _bind_roles notes the numbers of that server.
CREATE POLICY collection_grant_own ON pgblend_data.collection_grant FOR SELECT USING (
    (role_name, role_oid) IN (
        SELECT
            r.rolname,
            r.oid
        FROM pg_catalog.pg_roles AS r
        WHERE pg_has_role(r.oid, 'USAGE')
    )
    OR (
        role_name IN (
            SELECT r.rolname FROM pg_catalog.pg_roles AS r
            WHERE pg_has_role(r.oid, 'USAGE')
        )
        AND made_in <> (SELECT s.system_identifier FROM pg_control_system() AS s)
    )
);
CREATE POLICY collection_grant_admin ON pgblend_data.collection_grant
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.collection_grant ENABLE ROW LEVEL SECURITY;

-- Groups that the session holds: those of its setting pgblend.groups, where sign_groups made it,
-- for this role, and not too long ago. The first 64 characters sign the rest, which is JSON. The
-- role is there by its number: one that is made anew under its name holds nothing.
CREATE VIEW pgblend_data.session_group WITH (security_barrier = true) AS
SELECT g.name
FROM (
    SELECT CASE
        WHEN left(s.given, 64) = encode(sha256(
            k.secret || sha256(k.secret || convert_to(substr(s.given, 65), 'UTF8'))
        ), 'hex') THEN substr(s.given, 65)::jsonb
    END AS held
    FROM pgblend_data.group_secret AS k
    CROSS JOIN (SELECT current_setting('pgblend.groups', true) AS given) AS s
) AS p
CROSS JOIN LATERAL jsonb_array_elements_text(p.held -> 'groups') AS g (name)
WHERE
    (p.held ->> 'role')::oid = to_regrole(quote_ident(current_user))::oid
    AND (p.held ->> 'until')::double precision > extract(EPOCH FROM clock_timestamp());
COMMENT ON VIEW pgblend_data.session_group IS
'The groups that the session holds by the signed setting pgblend.groups.';
COMMENT ON COLUMN pgblend_data.session_group.name IS 'A group.';

CREATE POLICY document_reader_own ON pgblend_data.document_reader FOR SELECT USING (
    CASE
        WHEN is_group THEN reader::text IN (SELECT s.name FROM pgblend_data.session_group AS s)
        WHEN made_in = (SELECT s.system_identifier FROM pg_control_system() AS s)
            THEN (reader, role_oid) IN (
                SELECT
                    r.rolname,
                    r.oid
                FROM pg_catalog.pg_roles AS r
                WHERE pg_has_role(r.oid, 'USAGE')
            )
        ELSE reader IN (
            SELECT r.rolname FROM pg_catalog.pg_roles AS r
            WHERE pg_has_role(r.oid, 'USAGE')
        )
    END
);
-- Who may write to a compartment sees who may read it.
CREATE POLICY document_reader_write ON pgblend_data.document_reader FOR SELECT USING (
    collection_id IN (
        SELECT g.collection_id FROM pgblend_data.collection_grant AS g
        WHERE g.privilege = 'write'
    )
);
CREATE POLICY document_reader_admin ON pgblend_data.document_reader FOR SELECT
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.document_reader ENABLE ROW LEVEL SECURITY;
ALTER TABLE pgblend_data.group_secret ENABLE ROW LEVEL SECURITY;

-- Of a compartment the readers see its documents, where they may read its collection. Those who may
-- write to that have grants on the compartment too (_grant_follow).
CREATE POLICY collection_read ON pgblend_data.collection FOR SELECT USING (
    id IN (SELECT g.collection_id FROM pgblend_data.collection_grant AS g)
    OR (
        parent_id IN (SELECT g.collection_id FROM pgblend_data.collection_grant AS g)
        AND id IN (SELECT r.collection_id FROM pgblend_data.document_reader AS r)
    )
);
CREATE POLICY collection_admin ON pgblend_data.collection
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.collection ENABLE ROW LEVEL SECURITY;

-- Rows that belong to a collection. Without one (evaluation) they are in no list: admins only.
-- Embedding tables get the same policies when made (pgblend._create_embedding_table).
DO $do$
DECLARE
    secured name;
BEGIN
    FOREACH secured IN ARRAY ARRAY[
        'attached_table', 'chunk', 'collection_language', 'document', 'document_name',
        'document_summary', 'embedding_queue', 'entity', 'entity_extraction', 'evaluation_result',
        'evaluation_run', 'judged_query', 'judged_set', 'judgement', 'key_reference',
        'lexical_failure', 'link', 'pending', 'posting', 'segment', 'tombstone', 'vocabulary']
    LOOP
        EXECUTE format(
            'CREATE POLICY %2$I ON pgblend_data.%1$I FOR SELECT USING (
                collection_id IN (SELECT c.id FROM pgblend_data.collection AS c))',
            secured, secured || '_read');
        EXECUTE format(
            'CREATE POLICY %2$I ON pgblend_data.%1$I
            USING ((SELECT pg_has_role(''pgblend_admin'', ''USAGE'')))',
            secured, secured || '_admin');
        -- Attached tables are followed by routines of the owner alone.
        IF secured NOT IN ('attached_table', 'key_reference') THEN
            EXECUTE format(
                'CREATE POLICY %2$I ON pgblend_data.%1$I USING (
                    collection_id IN (
                        SELECT g.collection_id FROM pgblend_data.collection_grant AS g
                        WHERE g.privilege = ''write''))',
                secured, secured || '_write');
        END IF;
        EXECUTE format('ALTER TABLE pgblend_data.%I ENABLE ROW LEVEL SECURITY', secured);
    END LOOP;
END
$do$;

-- An edge tells that its other end exists, so both ends must be visible.
CREATE POLICY edge_read ON pgblend_data.edge FOR SELECT USING (
    collection_id IN (SELECT c.id FROM pgblend_data.collection AS c)
    AND neighbour_collection_id IN (SELECT c.id FROM pgblend_data.collection AS c)
);
CREATE POLICY edge_write ON pgblend_data.edge USING (
    collection_id IN (
        SELECT g.collection_id FROM pgblend_data.collection_grant AS g
        WHERE g.privilege = 'write'
    )
    AND neighbour_collection_id IN (SELECT c.id FROM pgblend_data.collection AS c)
);
CREATE POLICY edge_admin ON pgblend_data.edge
USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
ALTER TABLE pgblend_data.edge ENABLE ROW LEVEL SECURITY;
