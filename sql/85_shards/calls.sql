-- _answer_shards: what this database, as a shard, answers to trips of a coordinator.
-- A row for each number as given: the answer to the trip, and to further calls of that shard
-- (plpy/shards/shard_answers.py). Rows are those that the caller may see; nothing in the arguments
-- is trusted. The SET clauses are those of _run_search.
CREATE OR REPLACE FUNCTION pgblend._answer_shards(
    shards integer[], calls text[], trip text
)
RETURNS TABLE (shard integer, answer text)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
ROWS 1
SET "hnsw.ef_search" = 40
SET "hnsw.iterative_scan" = strict_order
SET "hnsw.max_scan_tuples" = 20000
SET enable_sort = on
SET enable_seqscan = on
SET jit = off
SET plan_cache_mode = force_generic_plan
SET "pgblend.readable" = ''
AS $python$
from pgblend.plpy.shards.shard_answers import answered

db.run("SELECT pgblend._check_addressed($1)", ["integer[]"], shards)
return [
    (number, db.answer(answered, trip, further))
    for number, further in zip(shards, calls, strict=True)
]
$python$;

-- _carry_out: call routines for a coordinator, by the caller's rights.
-- A row for each request, with its shard's number as given and {"value": [row, …]} or {"error":
-- [SQLSTATE, message, hint]}: then nothing of this request was done. A request is {"version",
-- "routine", "arguments": {name: text}}, the version that of the coordinator's front. If it has a
-- "collection_id", that the argument collection names another one is an error (40001). Nothing in
-- it is trusted: whoever may search may write one.
CREATE OR REPLACE FUNCTION pgblend._carry_out(shards integer[], requests text[])
RETURNS TABLE (shard integer, answer text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
AS $function$
DECLARE
    asked jsonb;
    state text;
    problem_hint text;
BEGIN
    FOR shard, asked IN
        SELECT r.number, r.request::jsonb FROM unnest(shards, requests) AS r (number, request)
    LOOP
        BEGIN
            PERFORM pgblend._check_addressed(shards);
            PERFORM pgblend._check_front((asked ->> 'version')::bigint);
            IF split_part(asked ->> 'routine', '.', 1) NOT IN ('blend', 'pgblend') THEN
                RAISE EXCEPTION '% is no routine of pgblend', left(asked ->> 'routine', 200)
                    USING ERRCODE = '42501', HINT = 'A coordinator calls what is of pgblend alone.';
            END IF;
            -- Calls in text: none (a routine that the caller may call, or not).
            EXECUTE format(
                'SELECT jsonb_build_object(''value'', coalesce(jsonb_agg(to_jsonb(r)), ''[]''))
                FROM %I.%I(%s) AS r',
                split_part(asked ->> 'routine', '.', 1), split_part(asked ->> 'routine', '.', 2), (
                    SELECT string_agg(format('%I => %L', a.key, a.value), ', ')
                    FROM jsonb_each_text(asked -> 'arguments') AS a))
            INTO answer;
            -- Afterwards: one that was made anew under this name has another id for good.
            IF asked ? 'collection_id' AND NOT pgblend._is_collection(
                (asked ->> 'collection_id')::bigint, asked #>> '{arguments,collection}')
            THEN
                RAISE EXCEPTION 'collection "%" was removed meanwhile',
                    asked #>> '{arguments,collection}'
                    USING ERRCODE = '40001', HINT = 'Call it again.';
            END IF;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS problem_hint = PG_EXCEPTION_HINT;
            state := SQLSTATE;
            -- It went while its document was stored.
            IF state = '23503' AND asked ? 'collection_id' AND NOT pgblend._is_collection(
                (asked ->> 'collection_id')::bigint, asked #>> '{arguments,collection}')
            THEN
                state := '40001';
            END IF;
            answer := jsonb_build_object('error', jsonb_build_array(state, SQLERRM, problem_hint));
        END;
        RETURN NEXT;
    END LOOP;
END;
$function$;

-- _is_collection: whether the collection of a name is the one with that id.
CREATE OR REPLACE FUNCTION pgblend._is_collection(id bigint, name text)
RETURNS boolean
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
RETURN EXISTS (
    SELECT FROM pgblend_data.collection AS c
    WHERE c.id = _is_collection.id AND c.name = normalize(_is_collection.name)
);
