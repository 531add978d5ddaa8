-- hybrid_search: the best passages for a query, by words and vectors fused.
-- A NULL or blank query gives no rows. Without a query_embedding the query is embedded through the
-- gateway. Where that fails the words answer alone; `degraded` and a WARNING say why, and the
-- option strict makes it an error. Misspelt words are put right by the fuzzy arm (option fuzzy).
-- score falls with rank, but where MMR chooses rows for variety (option mmr): it is the score
-- before that. Weights that are all 0 are an error. Options: blend.setting_catalog(), scope
-- 'search'. Example: SELECT * FROM hybrid_search('how do I deploy to production').
CREATE OR REPLACE FUNCTION blend.hybrid_search(
    query text,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    profile text DEFAULT NULL,
    options jsonb DEFAULT '{}',
    query_embedding vector DEFAULT NULL
)
RETURNS SETOF blend.search_result
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
ROWS 10
AS $function$
BEGIN
    RETURN QUERY SELECT r.* FROM unnest((pgblend._search(
        query, result_limit, collections, filter, profile, options, query_embedding)).results) AS r;
END;
$function$;

-- lexical_search: the best passages for a query by its words alone (BM25).
-- A NULL or blank query gives no rows. A query may have "phrases", or, and -exclusions. Phrases and
-- exclusions must hold; of the plain words any may match. score is BM25 over what no passage can
-- reach; arms has the raw BM25; relevance is NULL. Where no passage has a phrase, its words are
-- searched; where none has any of the words, the nearest by vectors come instead. Both are marked
-- in `degraded`. The option strict has what is asked or nothing,
-- and errors: PB002 where a collection has no lexical index, PB003 where there are no chunks, PB009
-- where the time is over. PB013 where the server's Python has no numpy.
CREATE OR REPLACE FUNCTION blend.lexical_search(
    query text,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    options jsonb DEFAULT '{}'
)
RETURNS SETOF blend.search_result
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
AS $function$
BEGIN
    RETURN QUERY SELECT r.* FROM unnest((pgblend._search(
        query, result_limit, collections, filter, NULL, options, NULL, 'lexical')).results) AS r;
END;
$function$;

-- vector_search: the best passages for a query by its vector alone.
-- The query is embedded through the gateway unless query_embedding is given. One of the two is
-- needed, or there are no rows. score is 1 - cosine distance / 2, relevance and arms have the
-- cosine. Where there are no vectors it raises PB001 (VECTORS_UNAVAILABLE), where the gateway
-- fails PB008.
CREATE OR REPLACE FUNCTION blend.vector_search(
    query text DEFAULT NULL,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    options jsonb DEFAULT '{}',
    query_embedding vector DEFAULT NULL
)
RETURNS SETOF blend.search_result
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
ROWS 10
AS $function$
BEGIN
    RETURN QUERY SELECT r.* FROM unnest((pgblend._search(
        query, result_limit, collections, filter, NULL, options, query_embedding, 'vector')).results) AS r;
END;
$function$;

-- fuzzy_search: the best passages for a query by its words, misspelt and unfinished ones put right.
-- A NULL or blank query gives no rows. A word that the searched collections lack stands for up to
-- three similar ones that they have, weighed by likelihood; arms names them (corrections). Words
-- that they have stand for themselves. Phrases and exclusions hold as they are written. score is
-- BM25 over what no passage can reach; relevance is NULL. Errors are those of lexical_search.
CREATE OR REPLACE FUNCTION blend.fuzzy_search(
    query text,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    options jsonb DEFAULT '{}'
)
RETURNS SETOF blend.search_result
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
AS $function$
BEGIN
    RETURN QUERY SELECT r.* FROM unnest((pgblend._search(
        query, result_limit, collections, filter, NULL, options, NULL, 'fuzzy')).results) AS r;
END;
$function$;

-- search_explain: hybrid_search told as one JSON document: what each stage did, and how each row
-- came to its place.
-- {"query", "profile", "mode", "meta": {"mode", "expanded", "reranked", "vectorsUsed"},
-- "collections", "settings": {name: {"value", "source"}}, "stages": [{"name", "start_ms", "ms",
-- "rows", "skipped", "details"}], "degraded", "total_ms", "results": [{"rank", "score", …, "arms":
-- {arm: {"rank", "score", "weight"}}, "parts": {name: part of the score}, "scores": {stage: score},
-- "places": {stage: place}}]}. A setting's source is where its value came from. The parts add up to
-- the score. It runs the very search, so arguments and errors are those of hybrid_search; a NULL or
-- blank query has no stages and results.
CREATE OR REPLACE FUNCTION blend.search_explain(
    query text,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    profile text DEFAULT NULL,
    options jsonb DEFAULT '{}',
    query_embedding vector DEFAULT NULL
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
AS $function$
BEGIN
    RETURN (pgblend._search(
        query, result_limit, collections, filter, profile, options, query_embedding,
        traced => 'page')).trace;
END;
$function$;

-- rerank_candidates: the passages of a search that a reranker would read, best fused score first.
-- For those who rerank outside the database: give {chunk_id: score} back as the option
-- rerank_scores of the same search. Arguments and errors are those of hybrid_search; a NULL or
-- blank query gives no rows.
CREATE OR REPLACE FUNCTION blend.rerank_candidates(
    query text,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    profile text DEFAULT NULL,
    options jsonb DEFAULT '{}',
    query_embedding vector DEFAULT NULL,
    result_limit integer DEFAULT 10
)
RETURNS TABLE (rank bigint, chunk_id bigint, passage text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
ROWS 20
AS $function$
BEGIN
    RETURN QUERY
    SELECT p.place, (p.value ->> 'chunk_id')::bigint, p.value ->> 'passage'
    FROM jsonb_array_elements((pgblend._search(
        query, result_limit, collections, filter, profile, options, query_embedding,
        traced => 'rerank')).trace -> 'passages') WITH ORDINALITY AS p (value, place);
END;
$function$;

-- _search: one search from its arguments to its rows: the shell of the program, around which all
-- search functions are made.
-- It checks sizes, tries again where that helps, and sends the report; plpy/search/run.py does the
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

-- _run_search: one search as plpy/search/run.py runs it, all of it under one snapshot.
-- Arguments are those of _search; started_at is in seconds since 1970, and tries, which _search
-- hands on, says how often the search was begun. results are NULL-free rows, best first; trace and
-- report are NULL where nobody asks for them. Whoever may search may call it: nothing in its
-- arguments is trusted. The SET clauses hold for what the vector arm scans, and put back the
-- caller's values of what it sets: pgblend.readable proves what may be read for the search alone.
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
SET "hnsw.ef_search" = 40
SET "hnsw.iterative_scan" = strict_order
SET "hnsw.max_scan_tuples" = 20000
SET enable_sort = on
SET enable_seqscan = on
SET jit = off
SET plan_cache_mode = force_generic_plan
SET "pgblend.readable" = ''
AS $python$
from pgblend.plpy.search.bridge import BridgedNode
from pgblend.plpy.search.query import Request, Tries
from pgblend.plpy.search.call import search

return db.answer(search, Request(
    query, result_limit, collections, filter, profile, options, query_embedding, only_arm, traced,
    started_at, Tries.read(tries)), BridgedNode(db))
$python$;

-- _check_result_limit: raise unless a limit is from 0 to 10000.
CREATE OR REPLACE FUNCTION pgblend._check_result_limit(result_limit integer)
RETURNS void
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
    IF result_limit IS NULL OR result_limit NOT BETWEEN 0 AND 10000 THEN
        RAISE EXCEPTION 'result_limit is %: expected a whole number from 0 to 10000',
            coalesce(result_limit::text, 'NULL')
            USING ERRCODE = '22023', HINT = '10 is the default.';
    END IF;
END;
$function$;

-- _degrade: note that a search goes on without a stage: a WARNING, and the text for `degraded`.
-- With the setting strict it is an error, with the SQLSTATE given. The hint says what to do; NULL
-- says nothing.
CREATE OR REPLACE FUNCTION pgblend._degrade(
    stage text,
    problem text,
    problem_code text,
    hint text,
    settings jsonb
)
RETURNS text[]
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.search.query import go_on_without

strict = bool(json.loads(settings).get("strict"))
return [db.answer(go_on_without, stage, problem, hint, problem_code, strict)]
$python$;
