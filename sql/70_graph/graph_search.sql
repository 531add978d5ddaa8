-- graph_search: passages near in the graph: to seed nodes, or to what a query finds by its vector.
-- With seed_nodes, score is 1 / (1 + depth) from the nearest seed, and a seed has depth 0. With a
-- query (or its vector), max(2 n, 20) hits by cosine are expanded by depth steps, and score is
-- cosine + 1 / (1 + distance), each 0 where it did not find the passage: it can reach 1.5, over
-- which min_score and cursors take it. details have source (vector, graph, hybrid) and depth (0 for
-- a hit; the distance is in arms). A document is shown by one passage, entities lead on and are no
-- rows, and a seed that is gone is skipped with a WARNING. result_limit of 0 or less is 10. Neither
-- seeds nor query is an error (PB011), both are one; where the embedding fails it raises PB008,
-- without vectors PB001. Options: those of scope search; graph has direction and edge_types. PB011
-- (NO_SEEDS) without seeds and without a query.
CREATE OR REPLACE FUNCTION blend.graph_search(
    seed_nodes text[] DEFAULT NULL,
    depth integer DEFAULT 1,
    result_limit integer DEFAULT 10,
    query text DEFAULT NULL,
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
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    wanted integer := CASE WHEN graph_search.result_limit <= 0 THEN 10
        ELSE coalesce(graph_search.result_limit, 10) END;
    has_seeds boolean := cardinality(seed_nodes) > 0;
    has_query boolean := coalesce(btrim(graph_search.query, E' \t\r\n'), '') <> ''
        OR query_embedding IS NOT NULL;
    started_at timestamptz := clock_timestamp();
    asked jsonb;
    found bigint;
    search record;
BEGIN
    IF has_seeds AND has_query THEN
        RAISE EXCEPTION 'graph_search has seed_nodes and a query: expected one of them'
            USING ERRCODE = '22023',
            HINT = 'Leave seed_nodes out: what the query finds are the seeds.';
    ELSIF NOT coalesce(has_seeds, false) AND NOT has_query THEN
        RAISE EXCEPTION 'NO_SEEDS: graph_search has neither seed_nodes nor a query'
            USING ERRCODE = 'PB011',
            HINT = 'For example: seed_nodes => ARRAY[graph_node(collection, source_key)]';
    END IF;
    PERFORM pgblend._check_result_limit(wanted);
    PERFORM pgblend._check_size('seed_nodes', cardinality(seed_nodes), 'items', 'array_items');
    asked := coalesce(options, '{}') || jsonb_build_object(
        'graph', coalesce(nullif(options -> 'graph', 'null'), '{}')
            || jsonb_build_object('depth', depth));
    IF has_seeds THEN
        RETURN QUERY
        SELECT s.* FROM pgblend._search_from_seeds(
            seed_nodes, wanted, collections, filter, asked) AS s;
        GET DIAGNOSTICS found = ROW_COUNT;
        PERFORM pgblend._note_search(jsonb_build_object(
            'mode', 'fast', 'arm', 'graph', 'rows', found, 'candidates', NULL, 'degraded', '[]'::jsonb,
            'not_run', '{}'::jsonb, 'search_id', NULL,
            'ms', pgblend._milliseconds(started_at, clock_timestamp())));
        RETURN;
    END IF;
    search := pgblend._search(
        graph_search.query, wanted, collections, filter, 'graph', asked, query_embedding, NULL);
    RETURN QUERY
    SELECT r.rank, (r.arms #>> '{fused,score}')::double precision, r.relevance, r.document_id,
        r.chunk_id, r.collection, r.uri, r.title, r.snippet, r.content, r.start_line, r.end_line,
        r.pages, r.metadata, r.source_key, r.context_before, r.context_after, r.arms, r.degraded,
        r.details
    FROM unnest(search.results) AS r
    ORDER BY r.rank;
END;
$function$;
