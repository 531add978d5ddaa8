-- drop_embedding_space: delete an embedding space with its vectors; false where there is none to
-- delete.
-- Runs with its owner's rights, since the table belongs to whoever owns the others; a check
-- constraint makes sure that the registry names embedding tables only.
CREATE OR REPLACE FUNCTION pgblend.drop_embedding_space(name text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    dropped name;
BEGIN
    DELETE FROM pgblend_data.embedding_space AS s
    WHERE s.name = drop_embedding_space.name
    RETURNING s.table_name INTO dropped;
    IF dropped IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE pgblend_data.%I', dropped);
    RETURN true;
END;
$function$;

COMMENT ON FUNCTION pgblend.drop_embedding_space(text) IS
'Delete an embedding space with its vectors; false where there is none to delete. For members of '
'pgblend_admin.';
