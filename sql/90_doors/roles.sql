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

    reader AS (
        UPDATE pgblend_data.document_reader AS d
        SET role_oid = r.oid, made_in = s.system_identifier
        FROM pg_catalog.pg_roles AS r
        CROSS JOIN pg_control_system() AS s
        WHERE NOT d.is_group AND r.rolname = d.reader AND d.made_in <> s.system_identifier
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

    SELECT (SELECT count(*) FROM granted) + (SELECT count(*) FROM reader)
        + (SELECT count(*) FROM token);
END;

-- _token_role: the role of a token that is good for a scope now; NULL where there is none.
-- A role made later under the name of one that was dropped has none of its tokens.
-- The HTTP door asks it before each call: its plan stays, one of a query took three times as long.
-- Runs with its owner's rights, past the row security that is as wide for pgblend_serve.
CREATE OR REPLACE FUNCTION pgblend._token_role(digest bytea, scope text)
RETURNS name
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    RETURN (
        SELECT t.role_name
        FROM pgblend_data.access_token AS t
        INNER JOIN pg_catalog.pg_roles AS r ON r.rolname = t.role_name
            AND (
                r.oid = t.role_oid
                OR t.made_in <> (SELECT s.system_identifier FROM pg_control_system() AS s))
        WHERE t.digest = _token_role.digest AND t.expires_at > now()
            AND _token_role.scope = ANY(t.scopes) AND NOT t.is_link);
END;
$function$;

-- _token_groups: what the session of a call with a token sets as pgblend.groups: the token's
-- groups, signed for its role; an empty text where it has none, or is not good for the scope now.
-- Runs with its owner's rights: the HTTP door's login signs nothing else. A call takes an hour at
-- most.
CREATE OR REPLACE FUNCTION pgblend._token_groups(digest bytea, scope text)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    RETURN coalesce((
        SELECT pgblend._signed_groups(jsonb_build_object(
            'groups', to_jsonb(t.groups), 'role', to_regrole(quote_ident(t.role_name))::oid,
            'until', extract(EPOCH FROM clock_timestamp()) + 3600)::text)
        FROM pgblend_data.access_token AS t
        WHERE t.digest = _token_groups.digest AND t.groups <> '{}' AND t.expires_at > now()
            AND _token_groups.scope = ANY(t.scopes) AND NOT t.is_link), '');
END;
$function$;
