-- _active_space: the embedding space that searches use; a NULL row where there is none.
-- In plpgsql, which keeps its plan: an SQL function would be planned at each search.
CREATE OR REPLACE FUNCTION pgblend._active_space()
RETURNS pgblend_data.embedding_space
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    space pgblend_data.embedding_space;
BEGIN
    SELECT s.* INTO space FROM pgblend_data.embedding_space AS s WHERE s.active;
    RETURN space;
END;
$function$;
