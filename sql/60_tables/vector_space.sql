-- _vector_space: the wanted attachment with the embedding space of its vectors: one of their model
-- and dimensions, that in use before others, or one that is made.
-- Without embedding_column it has none.
CREATE OR REPLACE FUNCTION pgblend._vector_space(
    wanted pgblend_data.attached_table,
    model text
)
RETURNS pgblend_data.attached_table
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    told integer;
BEGIN
    IF wanted.embedding_column IS NULL THEN
        IF model IS NOT NULL OR wanted.embed_long_rows THEN
            RAISE EXCEPTION 'embedding_column is NULL: expected the column of the rows'' vectors'
                USING ERRCODE = '22023',
                HINT = 'embedding_model and embed_long_rows are for tables that have one.';
        END IF;
        RETURN wanted;
    ELSIF btrim(coalesce(model, '')) = '' THEN
        RAISE EXCEPTION 'embedding_model is %: expected the model that made the vectors of %',
            coalesce(quote_literal(model), 'NULL'), wanted.embedding_column
            USING ERRCODE = '22023',
            HINT = 'It embeds queries. For example: openai/text-embedding-3-small';
    END IF;
    told := pgblend._column_dimensions(wanted.relation, wanted.embedding_column);
    wanted.space := (
        SELECT s.name FROM pgblend_data.embedding_space AS s
        WHERE s.model = _vector_space.model AND s.asks_model
            AND s.dimensions = coalesce(told, s.dimensions)
        ORDER BY s.active DESC, s.brings_vectors, s.name
        LIMIT 1);
    wanted.space := coalesce(
        wanted.space, pgblend._make_vector_space(model, told, wanted.relation));
    RETURN wanted;
END;
$function$;

-- _column_dimensions: the dimensions that the type of a column says; NULL where it says none.
CREATE OR REPLACE FUNCTION pgblend._column_dimensions(relation regclass, column_name text)
RETURNS integer
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT nullif(CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END, -1)
    FROM pg_attribute AS a
    INNER JOIN pg_type AS t ON a.atttypid = t.oid
    WHERE a.attrelid = relation AND a.attname = column_name AND NOT a.attisdropped;
END;

-- _make_vector_space: make a space for the vectors of a table's rows, of so many dimensions (NULL:
-- those that the model gives); returns its name.
-- The model is asked for one vector, to have it asked for so many dimensions where it gives others
-- by itself; a gateway that does not answer is told. Searches use it at once where they have no
-- space yet, or one without vectors: then it is filled by its model for other collections. Else
-- nothing but these vectors comes into it.
CREATE OR REPLACE FUNCTION pgblend._make_vector_space(
    model text,
    dimensions integer,
    relation regclass
)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    patience CONSTANT integer := 10000;
    rows_there bigint := (
        SELECT sum(greatest(c.reltuples, 0)) FROM pg_catalog.pg_class AS c
        WHERE c.oid = relation OR c.oid IN (
            SELECT p.relid FROM pg_partition_tree(relation) AS p));
    becomes_active boolean := coalesce((
        SELECT bool_and(c.vectors + c.waiting + c.dead = 0)
        FROM pgblend_data.embedding_space AS s
        CROSS JOIN LATERAL blend.count_vectors(s.name) AS c
        WHERE s.active), true);
    given real[];
    asked integer;
    made text;
BEGIN
    BEGIN
        given := pgblend._probe_model(model, patience);
        IF cardinality(given) <> dimensions THEN
            asked := dimensions;
            given := pgblend._probe_model(model, patience, dimensions);
        END IF;
        dimensions := coalesce(dimensions, cardinality(given));
    EXCEPTION WHEN SQLSTATE 'PB008' THEN
        IF asked IS NOT NULL THEN
            RAISE EXCEPTION 'model "%" gives vectors of % dimensions, the column holds %',
                model, cardinality(given), dimensions
                USING ERRCODE = '22023', HINT = 'Name the model that made them: embedding_model => …';
        ELSIF dimensions IS NULL THEN
            RAISE EXCEPTION 'the column of vectors says no dimensions, and model "%" none: %',
                model, SQLERRM
                USING ERRCODE = '22023',
                HINT = 'Say them: ALTER TABLE … ALTER COLUMN … TYPE vector(1536), or start the gateway.';
        END IF;
        RAISE NOTICE 'model "%" was not asked for its dimensions: %', model, SQLERRM;
    END;
    IF cardinality(given) <> dimensions THEN
        RAISE EXCEPTION 'model "%" gives vectors of % dimensions, the column holds %',
            model, cardinality(given), dimensions
            USING ERRCODE = '22023', HINT = 'Name the model that made them: embedding_model => …';
    END IF;
    made := pgblend._free_space_name(model, dimensions);
    PERFORM pgblend._keep_space(
        made, model, dimensions, coalesce((
            SELECT s.storage
            FROM pgblend._storages(greatest(rows_there, pgblend._most_chunks()), dimensions) AS s
            WHERE s.fits ORDER BY s.most_dimensions LIMIT 1), 'binary'),
        becomes_active, NOT becomes_active, asked, true);
    PERFORM pgblend._note_probe(made, given);
    RETURN made;
END;
$function$;

-- _free_space_name: a name for the embedding space of a model, which no space has.
CREATE OR REPLACE FUNCTION pgblend._free_space_name(model text, dimensions integer)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    short text := left(regexp_replace(
        lower(regexp_replace(model, '^.*/', '')), '[^a-z0-9]+', '_', 'g'), 24);
BEGIN
    short := CASE WHEN short ~ '^[a-z]' AND short NOT IN ('allowance', 'queue', 'space', 'worker')
        THEN short ELSE left('model_' || btrim(short, '_'), 24) END;
    RETURN (
        SELECT n.name
        FROM (VALUES (0, short), (1, format('%s_%s', short, dimensions))) AS n (place, name)
        WHERE n.name NOT IN (SELECT s.name FROM pgblend_data.embedding_space AS s)
        UNION ALL
        SELECT format('%s_%s_%s', short, dimensions, i.number)
        FROM generate_series(2, 1000) AS i (number)
        WHERE format('%s_%s_%s', short, dimensions, i.number) NOT IN (
            SELECT s.name FROM pgblend_data.embedding_space AS s)
        LIMIT 1);
END;
$function$;
