-- _note_attachment_problem: warn that changes of an attached table could not be followed, and
-- remember it.
CREATE OR REPLACE FUNCTION pgblend._note_attachment_problem(attachment_id integer, problem text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    UPDATE pgblend_data.attached_table AS a
    SET problem = _note_attachment_problem.problem, filled = false, filled_to = NULL
    WHERE a.id = attachment_id AND a.problem IS DISTINCT FROM _note_attachment_problem.problem;
    RAISE WARNING 'pgblend does not follow this change: %', problem
        USING HINT = 'Name the columns anew: blend.attach_table(…), as for a new table.';
END;
$function$;
