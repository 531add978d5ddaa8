-- _searched_space: the embedding space of this name; NULL is the active one, a NULL row where there
-- is none.
-- A name that is not there is an error.
CREATE OR REPLACE FUNCTION pgblend._searched_space(space text)
RETURNS pgblend_data.embedding_space
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    RETURN CASE WHEN space IS NULL
        THEN (SELECT s FROM pgblend_data.embedding_space AS s WHERE s.active)
        ELSE pgblend._named_space(space) END;
END;
$function$;
