-- _followed_attachment: the attachment that a trigger on a table (or a partition) serves, and SQL
-- over its rows (_attachment_queries); NULLs where there is none (any more).
-- NULLs as well where its changes cannot be followed: a WARNING says why, and the attachment
-- remembers it.
CREATE OR REPLACE FUNCTION pgblend._followed_attachment(
    attachment_id integer,
    relation oid,
    OUT attached pgblend_data.attached_table,
    OUT key_of text,
    OUT relevant text
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    why text;
BEGIN
    SELECT a.* INTO attached FROM pgblend_data.attached_table AS a
    WHERE a.id = attachment_id AND (a.relation = _followed_attachment.relation OR a.relation IN (
        SELECT p.relid FROM pg_partition_ancestors(_followed_attachment.relation) AS p));
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT h.problem, h.key_of, h.relevant INTO why, key_of, relevant
    FROM pgblend._attachment_queries(attached) AS h;
    IF why IS NOT NULL THEN
        UPDATE pgblend_data.attached_table AS a
        SET problem = why, filled = false, filled_to = NULL
        WHERE a.id = attachment_id AND a.problem IS DISTINCT FROM why;
        RAISE WARNING 'pgblend does not follow this change: %', why
            USING HINT = 'Name the columns anew: blend.attach_table(…), as for a new table.';
        attached := NULL;
    END IF;
END;
$function$;
