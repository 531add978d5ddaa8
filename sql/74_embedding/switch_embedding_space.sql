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

-- _keep_own_spaces: have searches of collections whose attached tables have vectors in another
-- space than this go on in it; a WARNING names the tables.
CREATE OR REPLACE FUNCTION pgblend._keep_own_spaces(space text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    other record;
BEGIN
    FOR other IN
        SELECT a.table_name, a.space, c.name, c.settings
        FROM pgblend_data.attached_table AS a
        INNER JOIN pgblend_data.collection AS c ON a.collection_id = c.id
        WHERE a.space <> _keep_own_spaces.space
        ORDER BY a.table_name
    LOOP
        IF NOT other.settings ? 'space' THEN
            PERFORM blend.set_collection_settings(
                other.name, jsonb_build_object('space', other.space));
        END IF;
        RAISE WARNING 'the vectors of the attached table % are in the embedding space "%"',
            other.table_name, other.space
            USING HINT = format('Searches of the collection "%s" alone use that one; among others '
                'its rows are found by their words.', other.name);
    END LOOP;
END;
$function$;

-- switch_embedding_space: let searches use another embedding space, from the commit on; returns the
-- name of the one before.
-- A search keeps the space that it began with. A space in which chunks wait for their vector is
-- refused (55000) unless even_incomplete is true; an unknown one is an error. Switching to the
-- active space changes nothing. Collections whose attached tables have vectors keep their space,
-- and a WARNING names them. For members of pgblend_admin.
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
    PERFORM pgblend._keep_own_spaces(name);
    RETURN pgblend._activate_space(name);
END;
$function$;
