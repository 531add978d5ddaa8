-- _search_page: one page of a search whose query is embedded, going on without what the words' arm
-- lacks.
-- Arms and texts are read by one statement, so under one snapshot. Where a collection has no
-- lexical index (PB002), it looks again after 50 and 100 ms while another session builds one, then
-- searches what there is; where the arm's time is over (PB009), the words are left out. Both are
-- named in `degraded` and raise a WARNING; with the setting strict they are errors at once. Without
-- numpy the words are scored from tsvectors, which is only named.
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
    OUT results pgblend.search_result[],
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
    problem text;
    hint text;
    tried_at timestamptz;
BEGIN
    IF (settings #>> '{weights,lexical}')::double precision > 0 AND NOT pgblend._has_numpy() THEN
        degraded := _search_page.degraded
            || 'lexical: scored from tsvectors, slowly: the server''s Python has no numpy'::text;
    END IF;
    LOOP
        BEGIN
            tried_at := clock_timestamp();
            SELECT
                ARRAY(
                    SELECT f FROM pgblend._fetch_page(
                        r.chunk_ids, r.ranks, r.scores, r.relevances, r.snippets, r.arms,
                        r.details, _search_page.degraded || r.degraded) AS f),
                r.candidate_count,
                r.trace,
                _search_page.degraded || r.degraded
            INTO results, candidate_count, trace, degraded
            FROM pgblend._rank_passages(
                query, result_limit, query_embedding, space, collection_ids, filter, settings,
                date_part('epoch', started_at), traced) AS r;
            IF trace ? 'stages' THEN
                trace := jsonb_insert(trace, '{stages,-1}', jsonb_build_object(
                    'name', 'fetch', 'rows', cardinality(results),
                    'ms', pgblend._milliseconds(tried_at, clock_timestamp())
                        - (trace ->> 'ms')::double precision), true) - 'ms';
            END IF;
            RETURN;
        EXCEPTION
            WHEN SQLSTATE 'PB002' OR SQLSTATE 'PB003' OR SQLSTATE 'PB008' OR SQLSTATE 'PB009'
                OR SQLSTATE '22023' OR query_canceled
            THEN
                GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
                -- PL/Python puts the class of an error in front
                problem := regexp_replace(SQLERRM, '^((plpy|spiexceptions)\.\w+: )+', '');
                IF (settings ->> 'strict')::boolean OR SQLSTATE NOT IN ('PB002', 'PB009') THEN
                    RAISE EXCEPTION '%', problem USING ERRCODE = SQLSTATE, HINT = hint;
                ELSIF SQLSTATE = 'PB002' AND cardinality(waits_s) > 0
                    AND EXISTS (
                        SELECT FROM unnest(collection_ids) AS id WHERE pgblend._is_building(id))
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
                settings := settings || CASE SQLSTATE
                    WHEN 'PB002' THEN '{"lexical_index": "incomplete"}'::jsonb
                    ELSE '{"lexical_index": "none"}' END;
        END;
    END LOOP;
END;
$function$;

COMMENT ON FUNCTION pgblend._search_page(
    text, integer, vector, text, bigint[], jsonb, jsonb, timestamptz, text, text[]
) IS
'One page of a search whose query is embedded, with how many candidates there were and a trace; it '
'goes on without what the words'' arm lacks: an index (PB002), time (PB009), numpy.';
