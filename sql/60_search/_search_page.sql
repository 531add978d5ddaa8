-- _search_page: one page of a search whose query is embedded, going on without what the words' arm
-- lacks.
-- Arms and texts are read by one statement, so under one snapshot. Where a collection has no
-- lexical index (PB002), it looks again after 50 and 100 ms while another session builds one, then
-- searches what there is; where the index is damaged, the words of that collection are left out;
-- where the arm's time is over (PB009), all words are, and candidate_count is NULL. These are named
-- in `degraded` and raise a WARNING; with the setting strict they are errors at once. Without numpy
-- the words are scored from tsvectors, which is only named. A deadlock (with REINDEX TABLE, which
-- takes a table's indexes one after the other) is tried once more. trace has lexical_tries, for the
-- search log: how many attempts, and the SQLSTATE and status of an index that was not there.
CREATE OR REPLACE FUNCTION pgblend._search_page(
    query text,
    result_limit integer,
    query_embedding vector,
    space text,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb,
    started_at timestamptz,
    traced text,
    INOUT degraded text[],
    OUT results blend.search_result[],
    OUT candidate_count integer,
    OUT trace jsonb
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    waits_s double precision[] := '{0.05, 0.1}';
    looked_again boolean := false;
    timed_out boolean := false;
    deadlocks integer := 0;
    damaged text;
    problem text;
    hint text;
    tries jsonb := '{"attempts": 0}';
BEGIN
    IF (settings #>> '{weights,lexical}')::double precision > 0 AND NOT pgblend._has_numpy() THEN
        degraded := _search_page.degraded
            || 'lexical: scored from tsvectors, slowly: the server''s Python has no numpy'::text;
    END IF;
    LOOP
        BEGIN
            tries := jsonb_set(tries, '{attempts}', to_jsonb((tries ->> 'attempts')::integer + 1));
            SELECT
                ARRAY(
                    SELECT f FROM pgblend._fetch_page(
                        r.chunk_ids, r.ranks, r.scores, r.relevances, r.snippets, r.arms,
                        r.details, _search_page.degraded || r.degraded) AS f),
                CASE WHEN NOT timed_out THEN r.candidate_count END,
                r.trace,
                _search_page.degraded || r.degraded
            INTO results, candidate_count, trace, degraded
            FROM pgblend._rank_passages(
                query, result_limit, query_embedding, space, collection_ids, filter, settings,
                date_part('epoch', started_at), traced) AS r;
            IF trace ? 'stages' THEN
                trace := jsonb_insert(trace, '{stages,-1}', jsonb_build_object(
                    'name', 'fetch', 'rows', cardinality(results), 'start_ms', trace -> 'end_ms',
                    'ms', greatest(pgblend._milliseconds(started_at, clock_timestamp())
                        - (trace ->> 'end_ms')::double precision, 0)), true) - 'end_ms'
                    || jsonb_build_object('lexical_tries', tries);
            END IF;
            RETURN;
        EXCEPTION
            WHEN SQLSTATE 'PB002' OR SQLSTATE 'PB003' OR SQLSTATE 'PB008' OR SQLSTATE 'PB009'
                OR SQLSTATE '22023' OR query_canceled OR deadlock_detected
            THEN
                IF SQLSTATE = '40P01' AND deadlocks = 0 THEN
                    deadlocks := 1;
                    CONTINUE;
                END IF;
                GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT, damaged = TABLE_NAME;
                tries := tries || jsonb_build_object('problem', SQLSTATE);
                IF SQLSTATE = 'PB002' THEN
                    tries := tries || jsonb_build_object('status', CASE
                        WHEN damaged <> '' THEN 'error'
                        WHEN EXISTS (
                            SELECT FROM unnest(collection_ids) AS id
                            WHERE pgblend._is_building(id)) THEN 'building'
                        ELSE 'uninitialized' END);
                END IF;
                -- PL/Python puts the class of an error in front
                problem := regexp_replace(SQLERRM, '^((plpy|spiexceptions)\.\w+: )+', '');
                IF (settings ->> 'strict')::boolean OR SQLSTATE NOT IN ('PB002', 'PB009') THEN
                    RAISE EXCEPTION '%', problem USING ERRCODE = SQLSTATE, HINT = hint;
                ELSIF cardinality(waits_s) > 0 AND SQLSTATE = 'PB002'
                    AND tries ->> 'status' = 'building'
                THEN
                    PERFORM pg_sleep(waits_s[1]);
                    waits_s := waits_s[2:];
                    CONTINUE;
                ELSIF SQLSTATE = 'PB002' AND cardinality(waits_s) > 0 AND NOT looked_again THEN
                    looked_again := true;  -- it may have been built since this snapshot
                    CONTINUE;
                END IF;
                degraded := _search_page.degraded
                    || pgblend._degrade('lexical', problem, SQLSTATE, hint, settings);
                timed_out := SQLSTATE = 'PB009';
                settings := settings || CASE
                    WHEN timed_out THEN '{"lexical_index": "none"}'::jsonb
                    WHEN damaged = '' THEN '{"lexical_index": "incomplete"}'
                    ELSE jsonb_build_object(
                        'damaged', coalesce(settings -> 'damaged', '[]') || to_jsonb(damaged)) END;
        END;
    END LOOP;
END;
$function$;
