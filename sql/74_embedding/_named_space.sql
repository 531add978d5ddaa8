-- _named_space: the embedding space of that name; an error where there is none.
CREATE OR REPLACE FUNCTION pgblend._named_space(space text)
RETURNS pgblend_data.embedding_space
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    named pgblend_data.embedding_space;
BEGIN
    SELECT s.* INTO named FROM pgblend_data.embedding_space AS s WHERE s.name = space;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no embedding space %',
            coalesce('"' || left(space, 200) || '"', 'NULL')
            USING ERRCODE = '22023', HINT = 'SELECT name FROM blend.embedding_spaces';
    END IF;
    RETURN named;
END;
$function$;
