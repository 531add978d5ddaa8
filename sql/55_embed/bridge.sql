-- bridge_embedding_space: let searches use an embedding space at once that is still being filled;
-- passages that lack its vectors are found by the space before, by a matrix on the query's side.
-- The matrix is fitted on passages that have a vector in both, 5,000 at most and 200 at least
-- (pgblend space switch NAME --now embeds as many), which takes up to a minute at 3,072 dimensions.
-- It is refused (55000) where it would lose too much: for held-out passages as queries, kept is the
-- share of their five nearest passages that are among the ten found, which must be 0.98; recall is
-- that of the ten nearest. Both kinds of passages form one ranking, and the details of a
-- row name the space of its vector. It ends by itself once no passage waits. An unknown space, the
-- active one, one without a space before it, and a shard are errors. For members of pgblend_admin.
CREATE OR REPLACE FUNCTION blend.bridge_embedding_space(name text)
RETURNS TABLE (
    instead_of text,
    pairs integer,
    kept double precision,
    recall double precision
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
AS $function$
DECLARE
    least CONSTANT double precision := 0.98;
    newer record := pgblend._named_space(name);
    older record := pgblend._bridged_space(newer);
    fitted record;
BEGIN
    SELECT f.* INTO fitted
    FROM pgblend._fit_bridge(older.table_name, newer.table_name, 5000) AS f;
    IF fitted.kept < least THEN
        RAISE EXCEPTION
            'vectors of "%" cannot stand in for those of "%": % %% of the nearest passages would be lost',
            older.name, newer.name, round(100 * (1 - fitted.kept)::numeric, 1)
            USING ERRCODE = '55000',
            DETAIL = format(
                'Of %s passages with both vectors, those held out were queries: of the five nearest '
                '%s %% are among the ten found (%s %% are expected), of the ten nearest %s %%.',
                fitted.pairs, round(100 * fitted.kept::numeric, 1),
                round(100 * least::numeric), round(100 * fitted.recall::numeric, 1)),
            HINT = format(
                'Searches use "%1$s" as before. Fill "%2$s" (pgblend space fill %2$s), then: '
                'pgblend space switch %2$s', older.name, newer.name);
    END IF;
    PERFORM pgblend._keep_own_spaces(newer.name);
    PERFORM pgblend._keep_bridge(
        newer.name, fitted.weights, fitted.shift, fitted.pairs, fitted.kept);
    instead_of := older.name;
    pairs := fitted.pairs;
    kept := fitted.kept;
    recall := fitted.recall;
    RETURN NEXT;
END;
$function$;

-- _fit_bridge: fit the matrix between two tables of vectors, and tell what it loses.
-- weights has a row for each dimension of the older vectors.
CREATE OR REPLACE FUNCTION pgblend._fit_bridge(
    older name,
    newer name,
    most integer,
    OUT pairs integer,
    OUT weights vector[],
    OUT shift vector,
    OUT kept double precision,
    OUT recall double precision
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.models.bridge_fit import fit_bridge

return db.answer(fit_bridge, older, newer, most)._asdict()
$python$;

-- _keep_bridge: store the matrix of a space, and let searches use that.
-- Runs with its owner's rights, since nobody else writes the registry; only admins may call it. The
-- other space is the active one, as _bridged_space has it. A matrix of other dimensions is an
-- error; no vector holds NaN or Infinity.
CREATE OR REPLACE FUNCTION pgblend._keep_bridge(
    space text,
    weights vector[],
    shift vector,
    pairs integer,
    kept double precision
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    extension_schema text := (
        SELECT e.extnamespace::regnamespace FROM pg_extension AS e WHERE e.extname = 'vector');
    newer pgblend_data.embedding_space := pgblend._named_space(space);
    older pgblend_data.embedding_space := pgblend._bridged_space(newer);
BEGIN
    IF cardinality(weights) IS DISTINCT FROM older.dimensions THEN
        RAISE EXCEPTION 'the matrix has % rows: expected %, as many as "%" has dimensions',
            cardinality(weights), older.dimensions, older.name
            USING ERRCODE = '22023', HINT = 'pgblend space switch NAME --now fits it.';
    END IF;
    PERFORM pgblend._activate_space(space);
    -- The type refuses vectors of other dimensions.
    -- Calls in text: none (the extension's type).
    EXECUTE format(
        'INSERT INTO pgblend_data.space_bridge (space, weights, shift, pairs, kept)
        VALUES ($1, $2::%1$s.vector(%2$s)[], $3::%1$s.vector(%2$s), $4, $5)',
        extension_schema, newer.dimensions)
    USING space, weights, shift, pairs, kept;
    UPDATE pgblend_data.embedding_space AS s SET bridged_from = older.name WHERE s.name = newer.name;
END;
$function$;

-- _bridged_space: the active space, in whose place another may answer at once; an error where none
-- can.
CREATE OR REPLACE FUNCTION pgblend._bridged_space(newer pgblend_data.embedding_space)
RETURNS pgblend_data.embedding_space
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    most CONSTANT integer := 4096;
    older pgblend_data.embedding_space;
BEGIN
    SELECT s.* INTO older FROM pgblend_data.embedding_space AS s WHERE s.active;
    IF EXISTS (SELECT FROM pgblend_data.shard_self) THEN
        RAISE EXCEPTION 'a shard has the embedding space of its coordinator'
            USING ERRCODE = '55000',
            HINT = 'Fill the other space (pgblend space fill), then switch on the coordinator.';
    ELSIF older.name IS NULL THEN
        RAISE EXCEPTION 'searches use no embedding space yet, in whose place "%" would answer',
            newer.name
            USING ERRCODE = '55000', HINT = format('pgblend space switch %s', newer.name);
    ELSIF older.name = newer.name THEN
        RAISE EXCEPTION 'searches use embedding space "%" already', newer.name
            USING ERRCODE = '55000', HINT = 'SELECT name, active, bridged_from FROM blend.embedding_spaces';
    ELSIF older.bridged_from IS NOT NULL THEN
        RAISE EXCEPTION 'passages without a vector in "%" are still found by "%"',
            older.name, older.bridged_from
            USING ERRCODE = '55000',
            HINT = format('Fill it first (pgblend space fill %1$s), or go back: pgblend space switch %2$s',
                older.name, older.bridged_from);
    ELSIF greatest(older.dimensions, newer.dimensions) > most THEN
        RAISE EXCEPTION 'a matrix from % to % dimensions takes too long to fit: expected at most %',
            newer.dimensions, older.dimensions, most
            USING ERRCODE = '55000',
            HINT = format('Fill it (pgblend space fill %1$s), then: pgblend space switch %1$s', newer.name);
    END IF;
    RETURN older;
END;
$function$;

-- _end_bridge: let an embedding space answer alone once no chunk waits for a vector in it; true
-- where that was to be done.
-- Runs with its owner's rights, since nobody else writes the registry: it sees for itself.
CREATE OR REPLACE FUNCTION pgblend._end_bridge(space text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    IF EXISTS (SELECT FROM pgblend_data.embedding_queue AS q WHERE q.space = _end_bridge.space) THEN
        RETURN false;
    END IF;
    UPDATE pgblend_data.embedding_space AS s SET bridged_from = NULL
    WHERE s.name = _end_bridge.space AND s.bridged_from IS NOT NULL;
    DELETE FROM pgblend_data.space_bridge AS b WHERE b.space = _end_bridge.space;
    RETURN FOUND;
END;
$function$;
