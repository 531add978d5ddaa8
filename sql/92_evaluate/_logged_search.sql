-- _logged_search: the query of a search in the search log, NULL where there is none to be had.
-- Runs with its owner's rights, since only admins read the log: others learn of searches that were
-- made as the role that asks. Being a member of that role is not enough: a superuser, who is one of
-- all, may be running somebody else's view.
CREATE OR REPLACE FUNCTION pgblend._logged_search(search_id uuid)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    RETURN (
        SELECT l.query FROM pgblend_data.search_log AS l
        WHERE l.search_id = _logged_search.search_id AND l.role_name = pgblend._asking_role());
END;
$function$;
