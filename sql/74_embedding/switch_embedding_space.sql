-- switch_embedding_space: let searches use another embedding space, from the commit on; returns the
-- name of the one before.
-- A search keeps the space that it began with. A space in which chunks wait for their vector is
-- refused (55000) unless even_incomplete is true; an unknown one is an error. Switching to the
-- active space changes nothing. For members of pgblend_admin.
CREATE OR REPLACE FUNCTION blend.switch_embedding_space(
    name text,
    even_incomplete boolean DEFAULT false
)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    before text;
    lacking bigint;
BEGIN
    -- One switch after the other; ordered, so that two do not wait for each other.
    PERFORM s.name FROM pgblend_data.embedding_space AS s ORDER BY s.name FOR UPDATE;
    PERFORM pgblend._named_space(name);
    IF NOT coalesce(even_incomplete, false) THEN
        SELECT c.waiting + c.missing INTO lacking
        FROM blend.count_vectors(name) AS c;
        IF lacking > 0 THEN
            RAISE EXCEPTION '% chunks have no vector in embedding space "%" yet', lacking, name
                USING ERRCODE = '55000',
                HINT = 'Fill it (pgblend space fill), or say even_incomplete => true.';
        END IF;
    END IF;
    SELECT s.name INTO before FROM pgblend_data.embedding_space AS s WHERE s.active;
    UPDATE pgblend_data.embedding_space AS s SET active = false
    WHERE s.active AND s.name <> switch_embedding_space.name;
    UPDATE pgblend_data.embedding_space AS s SET active = true
    WHERE NOT s.active AND s.name = switch_embedding_space.name;
    RETURN before;
END;
$function$;
