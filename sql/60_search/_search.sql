-- _search: one search from its arguments to its rows: the shell of the program, around which all
-- search functions are made.
-- It checks sizes, tries again where that helps, and sends the report; search/run.py does the
-- rest. `only_arm` (lexical, vector, fuzzy) runs that arm alone. vector raises where there are no
-- vectors. lexical gives the nearest by vectors where no passage has any of the words, with a
-- WARNING and a note in `degraded`. It gives nothing where strict forbids that, or where its time
-- was over. A NULL or blank query gives no rows, unless only_arm is vector and its vector is
-- given. `trace` is NULL with `traced` 'none'; 'page', 'pool' and 'facets' say ever more,
-- 'rerank' only which passages a reranker would read. Where log_address is set, the search is
-- reported there, and search_id is in the rows' details. Without `is_reported` the caller is to
-- send the `report`.
-- A search begins again, under a new snapshot, where the program asks for it (PB012: its DETAIL
-- says with which `tries`, after which pause). It begins again up to three times where an upgrade
-- of pgblend overtook it (PB012), its space was dropped (40001), or it met a deadlock. REINDEX
-- TABLE makes one, since it takes a table's indexes one after the other.
CREATE OR REPLACE FUNCTION pgblend._search(
    query text,
    result_limit integer,
    collections text[],
    filter jsonb,
    profile text,
    options jsonb,
    query_embedding vector,
    only_arm text DEFAULT NULL,
    traced text DEFAULT 'none',
    is_reported boolean DEFAULT true,
    OUT results blend.search_result[],
    OUT trace jsonb,
    OUT report jsonb
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    started_at double precision := date_part('epoch', clock_timestamp());
    tries jsonb;
    tried text[] := '{}';
    next_tries text;
BEGIN
    IF (result_limit BETWEEN 0 AND 10000) IS NOT TRUE THEN
        PERFORM pgblend._check_result_limit(result_limit);  -- which says so
    END IF;
    IF length(query) > 100 THEN
        PERFORM pgblend._check_query(query);
    END IF;
    IF vector_norm(query_embedding) NOT BETWEEN 1e-3 AND 1e3 THEN
        query_embedding := l2_normalize(query_embedding);  -- float4 (half) cannot hold its square
    END IF;
    LOOP
        BEGIN
            SELECT s.* INTO results, trace, report
            FROM pgblend._run_search(
                query, result_limit, collections, filter, profile, options, query_embedding,
                only_arm, traced, started_at, tries) AS s;
            EXIT;
        EXCEPTION WHEN SQLSTATE 'PB012' OR serialization_failure OR deadlock_detected THEN
            GET STACKED DIAGNOSTICS next_tries = PG_EXCEPTION_DETAIL;
            IF left(next_tries, 1) = '{' THEN
                tries := next_tries;
                IF (tries ->> 'pause_s')::double precision > 0 THEN
                    PERFORM pg_sleep((tries ->> 'pause_s')::double precision);
                END IF;
            ELSIF cardinality(array_positions(tried, SQLSTATE)) > 2 THEN
                RAISE;
            ELSE
                tried := tried || SQLSTATE;
            END IF;
        END;
    END LOOP;
    IF is_reported AND report IS NOT NULL THEN
        PERFORM pgblend._report_search(report);
    END IF;
END;
$function$;
