-- _logged_search: the query of a search in the search log, NULL where there is none to be had.
-- Runs with its owner's rights, since only admins read the log: others learn of searches that were
-- made as the role that asks. Being a member of that role is not enough: a superuser, who is one of
-- all, may be running somebody else's view.
CREATE OR REPLACE FUNCTION pgblend._logged_search(search_id uuid)
RETURNS text
LANGUAGE sql
STABLE PARALLEL UNSAFE
SECURITY DEFINER
BEGIN ATOMIC
    SELECT l.query FROM pgblend_data.search_log AS l
    WHERE l.search_id = _logged_search.search_id AND l.role_name = pgblend._asking_role();
END;

-- feedback: note how well a passage answered a logged search; returns the judged query's id.
-- The judgement goes into the judged set "feedback: <collection>", under the text of the query
-- that was searched. The set is made where there is none. A grade above 0 means relevant, the
-- higher the better, from -1000 to 1000; NULL takes it back. `search_id` is details -> 'search_id'
-- of a search's rows. Errors: a search that is not logged with its text (log_address,
-- log_queries), or not the caller's; a passage that is not there; no right to write to its
-- collection.
CREATE OR REPLACE FUNCTION blend.feedback(search_id uuid, chunk_id bigint, grade integer)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    searched text := pgblend._logged_search(search_id);
BEGIN
    IF searched IS NULL THEN
        RAISE EXCEPTION 'there is no search % of % with its query in the log',
            coalesce(search_id::text, 'NULL'), pgblend._asking_role()
            USING ERRCODE = '22023',
            HINT = 'The settings log_address and log_queries say what is logged; it takes seconds.';
    END IF;
    RETURN pgblend._note_feedback(searched, chunk_id, grade);
END;
$function$;
