-- _routed: the numbers of the shards that a call with these arguments goes to: that of the document
-- with the source_key, else those of the collection, else all.
CREATE OR REPLACE FUNCTION pgblend._routed(arguments jsonb)
RETURNS integer[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    named pgblend_data.collection;
    own_bucket smallint;
BEGIN
    IF arguments ? 'source_key' OR arguments ->> 'collection' IS NOT NULL THEN
        named := pgblend._named_collection(arguments ->> 'collection');
    END IF;
    IF arguments ? 'source_key' THEN
        own_bucket := pgblend._bucket(named.id, coalesce(arguments ->> 'source_key', ''));
        RETURN ARRAY(
            SELECT b.shard FROM pgblend_data.shard_bucket AS b WHERE b.bucket = own_bucket);
    END IF;
    RETURN ARRAY(
        SELECT s.number FROM pgblend_data.shard AS s
        WHERE named.buckets IS NULL OR EXISTS (
            SELECT FROM pgblend_data.shard_bucket AS b
            WHERE b.shard = s.number AND b.bucket::integer <@ named.buckets)
        ORDER BY s.number);
END;
$function$;

-- _on_shards: call a routine on shards, by the caller's rights there; returns the rows of
-- all, in the order of shards.
-- Each shard commits for itself, also where another one fails, or the caller rolls back: so what is
-- called must be right when it is called again. An error of a shard is raised as it is. That there
-- is no such thing (42704) counts for nothing where another shard has the document_id, or the
-- source. What is refused by a shard that is being moved (PB016), or is another one by now, or has
-- another collection of that name than its document was routed by (40001), is called again for a
-- minute.
CREATE OR REPLACE FUNCTION pgblend._on_shards(routine text, arguments jsonb)
RETURNS SETOF jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
AS $function$
DECLARE
    asked jsonb := jsonb_build_object(
        'version', (SELECT f.version FROM pgblend_data.shard_front AS f),
        'routine', routine, 'arguments', arguments);
    request text := asked;
    numbers integer[];
    answers jsonb[];
    wrong jsonb;
BEGIN
    FOR turn IN 1..300 LOOP
        IF arguments ? 'source_key' THEN  -- read before its bucket
            request := asked || jsonb_build_object('collection_id', (
                SELECT c.id FROM pgblend_data.collection AS c
                WHERE c.name = arguments ->> 'collection'));
        END IF;
        numbers := pgblend._routed(arguments);
        answers := ARRAY(
            SELECT t.answer::jsonb
            FROM pgblend._tell_shards(
                numbers, array_fill(request, ARRAY[cardinality(numbers)])) AS t
            ORDER BY t.shard);
        wrong := (
            SELECT a -> 'error' FROM unnest(answers) AS a WHERE a ? 'error'
            ORDER BY a #>> '{error,0}' IN ('PB016', '40001') DESC, a #>> '{error,0}' = '42704'
            LIMIT 1);
        EXIT WHEN coalesce(wrong ->> 0, '') NOT IN ('PB016', '40001');
        PERFORM pg_sleep(0.2);
        -- A lock that the transaction does not have yet: with it PL/Proxy learns of new partitions.
        BEGIN
            PERFORM FROM pg_catalog.pg_foreign_server LIMIT 1;
            RAISE SQLSTATE 'PB016';
        EXCEPTION WHEN SQLSTATE 'PB016' THEN
            CONTINUE;
        END;
    END LOOP;
    IF wrong ->> 0 <> '42704' OR wrong IS NOT NULL AND NOT (
        arguments ?| '{document_id,source}' AND EXISTS (SELECT FROM unnest(answers) AS a WHERE a ? 'value'))
    THEN
        RAISE EXCEPTION USING
            MESSAGE = wrong ->> 1, ERRCODE = wrong ->> 0, HINT = coalesce(wrong ->> 2, '');
    END IF;
    RETURN QUERY
    SELECT v.row FROM unnest(answers) AS a
    CROSS JOIN LATERAL jsonb_array_elements(a -> 'value') AS v (row);
END;
$function$;
