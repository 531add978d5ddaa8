-- _triggered_attachment: the attachment that a trigger on a table (or a partition) serves; NULL
-- where there is none (any more).
CREATE OR REPLACE FUNCTION pgblend._triggered_attachment(attachment_id integer, relation oid)
RETURNS pgblend_data.attached_table
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    attached pgblend_data.attached_table;
BEGIN
    SELECT a.* INTO attached FROM pgblend_data.attached_table AS a WHERE a.id = attachment_id;
    IF attached.relation = relation OR attached.relation IN (
        SELECT p.relid FROM pg_partition_ancestors(relation) AS p)
    THEN
        RETURN attached;
    END IF;
    RETURN NULL;
END;
$function$;
