-- _logged_search: the query of a search in the search log, NULL where there is none to be had.
-- Runs with its owner's rights, since only admins read the log: others learn of searches that were
-- made as a role they are a member of.
CREATE OR REPLACE FUNCTION pgblend._logged_search(search_id uuid)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    RETURN (
        SELECT l.query FROM pgblend_data.search_log AS l
        INNER JOIN pg_roles AS r ON r.rolname = l.role_name
        WHERE l.search_id = _logged_search.search_id
            AND pg_has_role(session_user, r.oid, 'MEMBER'));
END;
$function$;

COMMENT ON FUNCTION pgblend._logged_search(uuid) IS
'The query of a search in the search log, made as a role that the session''s is a member of.';
