-- _bind_roles: bind grants and tokens that came from another server to its roles of today.
-- After a restore they count by name, until `migrate up` calls this: then a role that is made later
-- under the name of one that was dropped has none of them here either. Where there is no such role
-- yet they wait for it. Returns how many were bound. Runs with the rights of a superuser who calls.
CREATE OR REPLACE FUNCTION pgblend._bind_roles()
RETURNS bigint
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    WITH granted AS (
        UPDATE pgblend_data.collection_grant AS g
        SET role_oid = r.oid, made_in = s.system_identifier
        FROM pg_catalog.pg_roles AS r
        CROSS JOIN pg_control_system() AS s
        WHERE r.rolname = g.role_name AND g.made_in <> s.system_identifier
        RETURNING 1
    ),

    token AS (
        UPDATE pgblend_data.access_token AS t
        SET role_oid = r.oid, made_in = s.system_identifier
        FROM pg_catalog.pg_roles AS r
        CROSS JOIN pg_control_system() AS s
        WHERE r.rolname = t.role_name AND t.made_in <> s.system_identifier
        RETURNING 1
    )

    SELECT (SELECT count(*) FROM granted) + (SELECT count(*) FROM token);
END;
