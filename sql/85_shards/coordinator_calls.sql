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
                WHERE c.name = normalize(arguments ->> 'collection')));
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

-- _tell_shards: one call of a routine on each of some shards, all at once, by PL/Proxy.
-- Each number gets the request at its place, and commits for itself; rows come as they come.
CREATE OR REPLACE FUNCTION pgblend._tell_shards(shards integer[], requests text[])
RETURNS TABLE (shard integer, answer text)
LANGUAGE plproxy
VOLATILE PARALLEL UNSAFE
AS $function$
    CLUSTER 'pgblend_shards';
    SPLIT ALL;
    RUN ON shards;
    TARGET pgblend._carry_out;
$function$;

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

-- _ask_shards: one trip to some shards, all at once, by PL/Proxy.
-- Each number gets the trip, and the further calls at its place; rows come as they come. An error
-- of one is the whole call's, and leaves connections that the next call makes anew, of which a
-- NOTICE would tell.
CREATE OR REPLACE FUNCTION pgblend._ask_shards(
    shards integer[], calls text[], trip text
)
RETURNS TABLE (shard integer, answer text)
LANGUAGE plproxy
VOLATILE PARALLEL UNSAFE
SET client_min_messages = warning
AS $function$
    CLUSTER 'pgblend_shards';
    SPLIT ALL;
    RUN ON shards;
    TARGET pgblend._answer_shards;
$function$;

-- _relayed: what the shards answer for a routine, merged (plpy/shards/relay.py): its value as JSON,
-- or a list of its rows.
-- `arguments` is a list. A routine that no coordinator asks for is an error.
CREATE OR REPLACE FUNCTION pgblend._relayed(name text, arguments jsonb)
RETURNS json
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.shards.relay import relayed

return db.answer(relayed, name, json.loads(arguments))
$python$;

-- _relay_views: make views of this coordinator show what they show on its shards.
-- Their columns stay as they are. Only the owner of the views may call it.
CREATE OR REPLACE FUNCTION pgblend._relay_views(names text[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    relayed text;
    columns text;
BEGIN
    FOREACH relayed IN ARRAY names LOOP
        SELECT string_agg(
            format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY a.attnum)
        INTO columns
        FROM pg_attribute AS a
        WHERE a.attrelid = format('blend.%I', relayed)::regclass AND a.attnum > 0;
        -- Calls in text: _view_rows (a view by name, its columns).
        EXECUTE format(
            'CREATE OR REPLACE VIEW blend.%I WITH (security_invoker = true) AS
            SELECT v.* FROM json_to_recordset(pgblend._view_rows(%L)) AS v (%s)',
            relayed, relayed, columns);
    END LOOP;
END;
$function$;

-- _view_rows: the rows that a view has on the shards, merged (plpy/shards/relay.py), as JSON.
CREATE OR REPLACE FUNCTION pgblend._view_rows(name text)
RETURNS json
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.shards.relay import viewed

return db.answer(viewed, name)
$python$;

-- _has_own_readers: false, since documents on shards have no readers of their own.
CREATE OR REPLACE FUNCTION pgblend._has_own_readers(document_id bigint)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN false;

-- _run_search: one search as the program runs it (plpy/search/run.py), its passages on shards.
-- Arguments are those of _search; started_at is in seconds since 1970, and tries, which _search
-- hands on, says how often the search was begun. results are NULL-free rows, best first; trace and
-- report are NULL where nobody asks for them. Whoever may search may call it: nothing in its
-- arguments is trusted.
CREATE OR REPLACE FUNCTION pgblend._run_search(
    query text,
    result_limit integer,
    collections text[],
    filter jsonb,
    profile text,
    options jsonb,
    query_embedding vector,
    only_arm text,
    traced text,
    started_at double precision,
    tries jsonb,
    OUT results blend.search_result[],
    OUT trace jsonb,
    OUT report jsonb
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
SET jit = off
SET plan_cache_mode = force_generic_plan
SET "pgblend.readable" = ''
AS $python$
from pgblend.plpy.search.query import Request, Tries
from pgblend.plpy.shards.relay import search_shards

return db.answer(search_shards, Request(
    query, result_limit, collections, filter, profile, options, query_embedding, only_arm, traced,
    started_at, Tries.read(tries)))
$python$;
