-- _search_page: _result_page, going on without what the words' arm lacks.
-- Where a collection has no lexical index (PB002), it looks again after 50 and 100 ms while another
-- session builds one, then searches what there is; where the arm's time is over (PB009), the words
-- are left out. Both are named in `degraded` and raise a WARNING; with the setting strict they are
-- errors at once. Without numpy the words are scored from tsvectors, which is only named.
CREATE OR REPLACE FUNCTION pgblend._search_page(
    query text,
    result_limit integer,
    query_embedding vector,
    space pgblend_data.embedding_space,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb,
    degraded text[]
)
RETURNS SETOF pgblend.search_result
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
SET search_path FROM CURRENT
AS $function$
DECLARE
    waits_s double precision[] := '{0.05, 0.1}';
    problem text;
    hint text;
BEGIN
    IF (settings #>> '{weights,lexical}')::double precision > 0 AND NOT pgblend._has_numpy() THEN
        degraded := degraded
            || 'lexical: scored from tsvectors, slowly: the server''s Python has no numpy'::text;
    END IF;
    LOOP
        BEGIN
            RETURN QUERY SELECT r.* FROM pgblend._result_page(
                query, result_limit, query_embedding, space, collection_ids, filter, settings,
                degraded) AS r;
            RETURN;
        EXCEPTION WHEN SQLSTATE 'PB002' OR SQLSTATE 'PB009' THEN
            GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
            problem := regexp_replace(SQLERRM, '^plpy\.Error: ', '');
            IF (settings ->> 'strict')::boolean THEN
                RAISE EXCEPTION '%', problem USING ERRCODE = SQLSTATE, HINT = hint;
            ELSIF SQLSTATE = 'PB002' AND cardinality(waits_s) > 0
                AND EXISTS (
                    SELECT FROM unnest(collection_ids) AS id WHERE pgblend._is_building(id))
            THEN
                PERFORM pg_sleep(waits_s[1]);
                waits_s := waits_s[2:];
                CONTINUE;
            END IF;
            degraded := degraded
                || pgblend._degrade('lexical', problem, SQLSTATE, hint, settings);
            settings := CASE SQLSTATE
                WHEN 'PB002' THEN settings || '{"lexical_index": "incomplete"}'
                ELSE settings || '{"lexical_index": "none"}' END;
        END;
    END LOOP;
END;
$function$;

COMMENT ON FUNCTION pgblend._search_page(
    text, integer, vector, pgblend_data.embedding_space, bigint[], jsonb, jsonb, text[]
) IS
'_result_page, going on without what the words'' arm lacks: an index (PB002), time (PB009), numpy.';
