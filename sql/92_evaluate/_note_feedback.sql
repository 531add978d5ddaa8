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
