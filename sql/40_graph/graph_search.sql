-- graph_search: passages near in the graph: to seed nodes, or to what a query finds by its vector.
-- With seed_nodes, score is 1 / (1 + depth) from the nearest seed, and a seed has depth 0. With a
-- query (or its vector), depth steps lead on from max(2 n, 20) hits by cosine. score is then cosine
-- + 1 / (1 + distance), each 0 where it did not find the passage. It can reach 1.5; min_score and
-- cursors take it as it is. details have source (vector, graph, hybrid) and depth (0 for a hit; the
-- distance is in arms). A document is shown by one passage; entities lead on and are no rows. A
-- seed that is gone is skipped with a WARNING. result_limit of 0 or less is 10. Seeds and a query
-- together are an error, neither is PB011 (NO_SEEDS). A failing embedding raises PB008, a database
-- without vectors PB001. Options are those of scope search; graph has direction and edge_types.
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
AS $function$
DECLARE
    wanted integer := CASE WHEN result_limit > 0 THEN result_limit ELSE 10 END;
    has_seeds boolean := cardinality(seed_nodes) > 0;
    has_query boolean := coalesce(btrim(query, E' \t\r\n'), '') <> ''
        OR query_embedding IS NOT NULL;
    started_at double precision := date_part('epoch', clock_timestamp());
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
        'columns', '[]'::jsonb,
        'graph', coalesce(nullif(options -> 'graph', 'null'), '{}')
            || jsonb_build_object('depth', depth));
    IF has_seeds THEN
        RETURN QUERY
        SELECT s.* FROM pgblend._search_from_seeds(
            seed_nodes, wanted, collections, filter, asked) AS s;
        GET DIAGNOSTICS found = ROW_COUNT;
        PERFORM pgblend._note_search(jsonb_build_object(
            'mode', 'fast', 'arm', 'graph', 'rows', found, 'candidates', NULL, 'degraded', '[]'::jsonb,
            'not_run', '{}'::jsonb, 'search_id', NULL), started_at);
        RETURN;
    END IF;
    search := pgblend._search(query, wanted, collections, filter, 'graph', asked, query_embedding);
    RETURN QUERY
    SELECT s.*
    FROM unnest(search.results) AS r
    CROSS JOIN LATERAL jsonb_populate_record(
        r, jsonb_build_object('score', r.arms #> '{fused,score}')) AS s
    ORDER BY r.rank;
END;
$function$;

-- _search_from_seeds: passages near to seed nodes in the graph, score 1 / (1 + depth), best first.
-- A seed that is gone is skipped with a WARNING; where all are, there are no rows. Ties go by
-- (document, chunk index).
CREATE OR REPLACE FUNCTION pgblend._search_from_seeds(
    seed_nodes text[],
    result_limit integer,
    collections text[],
    filter jsonb,
    options jsonb
)
RETURNS SETOF blend.search_result
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 10
AS $function$
DECLARE
    collection_ids bigint[] := pgblend._searched_collections(collections);
    settings jsonb := pgblend._search_settings(options, 'graph', collection_ids);
    graph jsonb := settings -> 'graph';
    seeds bigint[];
    gone text[];
    walk record;
BEGIN
    SELECT array_agg(DISTINCT f.node) INTO seeds
    FROM pgblend._node_facts(ARRAY(
        SELECT pgblend._node_id(n) FROM unnest(seed_nodes) AS n WHERE n IS NOT NULL)) AS f;
    gone := ARRAY(
        SELECT DISTINCT coalesce(n, 'NULL') FROM unnest(seed_nodes) AS n
        WHERE pgblend._node_id(n) = ANY(seeds) IS NOT TRUE ORDER BY 1);
    IF cardinality(gone) > 0 THEN
        RAISE WARNING 'unknown seed nodes were skipped: %',
            array_to_string(gone[:10], ', ')
            USING HINT = 'graph_node(collection, source_key) gives the node of a document.';
    END IF;
    IF seeds IS NULL THEN
        RETURN;
    END IF;
    walk := pgblend._walk(
        seeds, (graph ->> 'depth')::integer, graph ->> 'direction',
        CASE jsonb_typeof(graph -> 'edge_types') WHEN 'array' THEN ARRAY(
            SELECT t FROM jsonb_array_elements_text(graph -> 'edge_types') AS t) END,
        (graph ->> 'node_limit')::integer + cardinality(seeds));
    IF walk.is_cut THEN
        RAISE WARNING 'there are more than % nodes: those of the heaviest edges are taken',
            graph ->> 'node_limit'
            USING HINT = 'Raise node_limit of the option graph, or name edge_types.';
    END IF;
    RETURN QUERY
    WITH near AS (
        SELECT DISTINCT ON (p.chunk_id) p.chunk_id, p.document_id, p.chunk_index, w.depth
        FROM unnest(walk.nodes, walk.depths) AS w (node, depth)
        INNER JOIN pgblend._node_passages(
            walk.nodes, collection_ids, pgblend._search_filter(filter, settings, collection_ids),
            settings ->> 'language', NULL, NULL) AS p ON p.node = w.node
        WHERE p.chunk_id <> 0
        ORDER BY p.chunk_id, w.depth
    ), page AS MATERIALIZED (
        SELECT
            row_number() OVER (ORDER BY n.depth, n.document_id, n.chunk_index)::integer AS rank,
            blend.graph_score(NULL, n.depth) AS score,
            n.chunk_id,
            n.depth
        FROM near AS n
        ORDER BY rank OFFSET (settings ->> 'offset')::integer LIMIT result_limit
    )
    SELECT
        p.rank, p.score, NULL::double precision, c.document_id, c.chunk_id, c.collection, c.uri,
        c.title,
        (pgblend._snippets(
            ARRAY[c.content], ARRAY[NULL::text], ARRAY[c.text_search_config]))[1],
        c.content, c.start_line, c.end_line, c.pages, c.metadata, c.source_key,
        NULL::text, NULL::text,
        jsonb_build_object('graph', jsonb_build_object(
            'rank', p.rank, 'score', p.score, 'distance', p.depth)),
        '{}'::text[],
        jsonb_build_object('source', 'graph', 'depth', p.depth, 'relevance_basis', NULL)
    FROM page AS p
    INNER JOIN pgblend._passage_rows(ARRAY(SELECT p.chunk_id FROM page AS p)) AS c
        ON c.chunk_id = p.chunk_id
    ORDER BY p.rank;
    SELECT array_agg(pgblend._node_name(p.node)) INTO gone
    FROM pgblend._node_passages(walk.nodes, collection_ids, NULL, NULL, NULL, NULL) AS p
    WHERE p.chunk_id = 0;
    IF gone IS NOT NULL THEN
        RAISE WARNING 'edges lead to nodes that are gone: %',
            array_to_string(gone[:10], ', ')
            USING HINT = 'Delete their edges: SELECT * FROM blend.edges';
    END IF;
END;
$function$;

-- _node_passages: the passage that stands for each of some nodes, of those that a search may find
-- (_nodes_shown). What the collections, the filter and the language leave out gives no row.
CREATE OR REPLACE FUNCTION pgblend._node_passages(
    nodes bigint[],
    collection_ids bigint[],
    filter jsonb,
    language text,
    query_embedding vector,
    space text
)
RETURNS TABLE (node bigint, chunk_id bigint, document_id bigint, chunk_index integer)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 100
AS $function$
DECLARE
    compiled record;
BEGIN
    SELECT f.* INTO compiled FROM pgblend._filter_condition(CASE
        WHEN language IS NULL THEN filter
        ELSE jsonb_build_object('and', jsonb_build_array(
            jsonb_build_object('$language', language), coalesce(filter, '{}'))) END, 3) AS f;
    RETURN QUERY SELECT s.* FROM pgblend._nodes_shown(
        nodes, collection_ids, compiled.on_chunk, compiled.operands, query_embedding, space) AS s;
END;
$function$;

-- _nodes_shown: the passage that stands for each of some nodes, of those that pass a condition.
-- That is a filter's on the chunk (_filter_condition), with parameter 3; NULL lets all pass. A
-- passage stands for itself. A document is shown by the passage nearest to the query's vector,
-- without a vector by its first. Entities have none. chunk_id 0 is a node that is gone.
CREATE OR REPLACE FUNCTION pgblend._nodes_shown(
    nodes bigint[],
    collection_ids bigint[],
    condition text,
    operands text[],
    query_embedding vector,
    space text
)
RETURNS TABLE (node bigint, chunk_id bigint, document_id bigint, chunk_index integer)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 100
AS $function$
DECLARE
    vectors pgblend_data.embedding_space;
BEGIN
    SELECT s.* INTO vectors FROM pgblend_data.embedding_space AS s WHERE s.name = space;
    -- Calls in text: _iso_timestamp (a filter's conditions).
    RETURN QUERY EXECUTE format(
        'SELECT DISTINCT ON (n.node) n.node, c.id, c.document_id, c.chunk_index
        FROM unnest($1) AS n (node)
        INNER JOIN pgblend_data.chunk AS c
            ON n.node & 3 = 0 AND c.document_id = n.node >> 2
                OR n.node & 3 = 1 AND c.id = n.node >> 2
        INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
        %s
        WHERE c.collection_id = ANY($2) AND %s
        ORDER BY n.node, %s c.chunk_index',
        CASE WHEN vectors.name IS NOT NULL AND query_embedding IS NOT NULL THEN format(
            'LEFT JOIN pgblend_data.%I AS e ON e.chunk_id = c.id AND n.node & 3 = 0',
            vectors.table_name) ELSE '' END,
        coalesce(condition, 'true'),
        CASE WHEN vectors.name IS NOT NULL AND query_embedding IS NOT NULL THEN format(
            'e.embedding <=> (SELECT $4::%s), ', vectors.vector_type) ELSE '' END)
    USING nodes, collection_ids, operands, query_embedding;
    RETURN QUERY
    SELECT n, 0::bigint, 0::bigint, 0
    FROM unnest(nodes) AS n
    WHERE n & 3 < 2 AND NOT EXISTS (SELECT FROM pgblend._node_facts(ARRAY[n]));
END;
$function$;

-- _passage_rows: passages with what a search shows of them and of their documents.
-- One that is not there, or that the caller may not see, gives no row.
CREATE OR REPLACE FUNCTION pgblend._passage_rows(chunk_ids bigint[])
RETURNS TABLE (
    chunk_id bigint,
    document_id bigint,
    collection text,
    source_key text,
    uri text,
    title text,
    content text,
    text_search_config text,
    start_line integer,
    end_line integer,
    pages integer[],
    metadata jsonb
)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 10
AS $function$
BEGIN
    RETURN QUERY
    SELECT
        c.id, d.id, o.name, d.source_key, d.uri, d.title, c.content, c.text_search_config,
        c.start_line, c.end_line, c.pages, d.metadata || c.metadata
    -- OFFSET 0: each row is a look-up, also where statistics call the tables empty.
    FROM unnest(chunk_ids) AS u (id)
    CROSS JOIN LATERAL (
        SELECT c.* FROM pgblend_data.chunk AS c WHERE c.id = u.id OFFSET 0) AS c
    CROSS JOIN LATERAL (
        SELECT d.* FROM pgblend_data.document AS d WHERE d.id = c.document_id OFFSET 0) AS d
    INNER JOIN pgblend_data.collection AS o ON o.id = d.collection_id;
END;
$function$;
