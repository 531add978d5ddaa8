-- _may_become: whether a role may take another's place, by SET ROLE.
CREATE OR REPLACE FUNCTION pgblend._may_become(who name, other oid)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN pg_has_role(
    who, other,
    CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END
);
