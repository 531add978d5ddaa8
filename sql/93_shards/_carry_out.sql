-- _carry_out: call routines for a coordinator, by the caller's rights.
-- A row for each request, with its shard's number as given and {"value": [row, …]} or {"error":
-- [SQLSTATE, message, hint]}: then nothing of this request was done. A request is {"version",
-- "routine", "arguments": {name: text}}, the version that of the coordinator's front. Nothing in it
-- is trusted: whoever may search may write one.
CREATE OR REPLACE FUNCTION pgblend._carry_out(shards integer[], requests text[])
RETURNS TABLE (shard integer, answer text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
AS $function$
DECLARE
    asked jsonb;
    problem_hint text;
BEGIN
    FOR shard, asked IN
        SELECT r.number, r.request::jsonb FROM unnest(shards, requests) AS r (number, request)
    LOOP
        BEGIN
            PERFORM pgblend._check_addressed(shards);
            PERFORM pgblend._check_front((asked ->> 'version')::bigint);
            -- Calls in text: none (a routine that the caller may call, or not).
            EXECUTE format(
                'SELECT jsonb_build_object(''value'', coalesce(jsonb_agg(to_jsonb(r)), ''[]''))
                FROM %I.%I(%s) AS r',
                split_part(asked ->> 'routine', '.', 1), split_part(asked ->> 'routine', '.', 2), (
                    SELECT string_agg(format('%I => %L', a.key, a.value), ', ')
                    FROM jsonb_each_text(asked -> 'arguments') AS a))
            INTO answer;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS problem_hint = PG_EXCEPTION_HINT;
            answer := jsonb_build_object(
                'error', jsonb_build_array(SQLSTATE, SQLERRM, problem_hint));
        END;
        RETURN NEXT;
    END LOOP;
END;
$function$;
