-- _document_containing: the caller's documents whose metadata contain one of the JSON objects in
-- the session's parameter pgblend.filter_alternatives, a jsonb[].
-- It reads document as its owner and asks itself which collections the caller may read. Operator
-- @> is not leakproof: row security would keep it from the GIN index. A security barrier: no
-- condition of the caller's sees a row before. The parameter is no secret and grants nothing.
CREATE OR REPLACE VIEW pgblend._document_containing WITH (security_barrier = true) AS
SELECT
    d.id AS document_id,  -- The document.
    d.collection_id  -- Its collection.
FROM pgblend_data.document AS d
WHERE
    d.metadata @> ANY(nullif(current_setting('pgblend.filter_alternatives', true), '')::jsonb[])
    AND (
        (SELECT pg_has_role('pgblend_admin', 'USAGE'))
        OR d.collection_id IN (
            SELECT g.collection_id
            FROM pgblend_data.collection_grant AS g
            INNER JOIN pg_catalog.pg_roles AS r ON g.role_name = r.rolname
            WHERE
                pg_has_role(r.oid, 'USAGE')
                AND (
                    g.role_oid = r.oid
                    OR g.made_in <> (SELECT s.system_identifier FROM pg_control_system() AS s)
                )
        )
    );
