-- _activate_space: make an embedding space the active one; returns the name of the one before.
-- Runs with its owner's rights, since nobody else writes the registry; only admins may call it.
CREATE OR REPLACE FUNCTION pgblend._activate_space(name text)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    before text;
BEGIN
    -- One switch after the other; ordered, so that two do not wait for each other.
    PERFORM s.name FROM pgblend_data.embedding_space AS s ORDER BY s.name FOR UPDATE;
    SELECT s.name INTO before FROM pgblend_data.embedding_space AS s WHERE s.active;
    UPDATE pgblend_data.embedding_space AS s SET active = false
    WHERE s.active AND s.name <> _activate_space.name;
    UPDATE pgblend_data.embedding_space AS s SET active = true
    WHERE NOT s.active AND s.name = _activate_space.name;
    RETURN before;
END;
$function$;

-- _lacking_vectors: how many chunks have no vector in an embedding space yet.
CREATE OR REPLACE FUNCTION pgblend._lacking_vectors(space text)
RETURNS bigint
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    RETURN (SELECT c.waiting + c.missing FROM blend.count_vectors(space) AS c);
END;
$function$;

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
    lacking bigint;
BEGIN
    PERFORM pgblend._named_space(name);
    IF NOT coalesce(even_incomplete, false) THEN
        lacking := pgblend._lacking_vectors(name);
        IF lacking > 0 THEN
            RAISE EXCEPTION '% chunks have no vector in embedding space "%" yet', lacking, name
                USING ERRCODE = '55000',
                HINT = 'Fill it (pgblend space fill), or say even_incomplete => true.';
        END IF;
    END IF;
    RETURN pgblend._activate_space(name);
END;
$function$;
