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

-- _note_feedback: note how well a passage answered a query, and return the judged query's id.
-- The judgement goes into the judged set "feedback: <collection>", which is made where there is
-- none. A grade above 0 means relevant; NULL takes it back. A passage that is not there and a blank
-- query are errors.
CREATE OR REPLACE FUNCTION pgblend._note_feedback(query text, chunk_id bigint, grade integer)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    found_document record;
    set_name text;
BEGIN
    SELECT d.source_key, d.collection AS name INTO found_document
    FROM pgblend._passage_document(chunk_id) AS d;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no passage %', coalesce(chunk_id::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'Take chunk_id from a row of the search.';
    END IF;
    set_name := left('feedback: ' || found_document.name, 200);
    IF NOT EXISTS (
        SELECT FROM pgblend_data.judged_set AS s
        INNER JOIN pgblend_data.collection AS c ON c.id = s.collection_id
        WHERE s.name = set_name AND c.name = found_document.name)
    THEN
        PERFORM blend.add_judged_set(
            set_name, found_document.name, 'What users said of passages that they found.');
    END IF;
    RETURN blend.record_judgement(
        set_name, query, found_document.source_key, grade, found_document.name);
END;
$function$;

-- _passage_document: the document of a passage, by its collection and key.
-- No row where there is none that the caller may read.
CREATE OR REPLACE FUNCTION pgblend._passage_document(chunk_id bigint)
RETURNS TABLE (source_key text, collection text)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 1
BEGIN ATOMIC
    SELECT
        d.source_key,
        o.name
    FROM pgblend_data.chunk AS c
    INNER JOIN pgblend_data.document AS d ON c.document_id = d.id
    INNER JOIN pgblend_data.collection AS o ON d.collection_id = o.id
    WHERE c.id = _passage_document.chunk_id;
END;

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
