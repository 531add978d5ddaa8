-- _searched_space: the embedding space of this name; NULL is the active one, a NULL row where there
-- is none.
-- A name that is not there is an error.
CREATE OR REPLACE FUNCTION pgblend._searched_space(space text)
RETURNS pgblend_data.embedding_space
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    named pgblend_data.embedding_space;
BEGIN
    SELECT s.* INTO named
    FROM pgblend_data.embedding_space AS s
    WHERE CASE WHEN space IS NULL THEN s.active ELSE s.name = space END;
    IF NOT FOUND AND space IS NOT NULL THEN
        RAISE EXCEPTION 'there is no embedding space "%"', left(space, 200)
            USING ERRCODE = '22023', HINT = 'SELECT name FROM blend.embedding_spaces';
    END IF;
    RETURN named;
END;
$function$;
