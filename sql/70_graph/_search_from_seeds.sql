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
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
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
        RAISE WARNING 'seed nodes that are not there were skipped: %',
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
        (graph ->> 'node_limit')::integer + cardinality(seeds), 1);
    IF walk.is_cut THEN
        RAISE WARNING 'there are more than % nodes: those of the heaviest edges are taken',
            graph ->> 'node_limit'
            USING HINT = 'Raise node_limit of the option graph, or name edge_types.';
    END IF;
    RETURN QUERY
    WITH passage AS MATERIALIZED (
        SELECT p.node, p.chunk_id, p.document_id, p.chunk_index, w.depth
        FROM unnest(walk.nodes, walk.depths) AS w (node, depth)
        INNER JOIN pgblend._node_passages(
            walk.nodes, collection_ids, pgblend._search_filter(filter, settings),
            settings ->> 'language', NULL, NULL) AS p ON p.node = w.node
    ), best AS (
        SELECT row_number() OVER (ORDER BY b.depth, b.document_id, b.chunk_index)::integer AS place,
            b.*
        FROM (
            SELECT DISTINCT ON (p.chunk_id) p.* FROM passage AS p
            WHERE p.chunk_id <> 0
            ORDER BY p.chunk_id, p.depth
        ) AS b
    ), page AS (
        SELECT
            array_agg(b.chunk_id ORDER BY b.place) AS chunk_ids,
            array_agg(b.place ORDER BY b.place) AS ranks,
            array_agg(blend.graph_score(NULL, b.depth) ORDER BY b.place) AS scores,
            array_agg(NULL::double precision) AS relevances,
            jsonb_agg(jsonb_build_object('graph', jsonb_build_object(
                'rank', b.place, 'score', blend.graph_score(NULL, b.depth),
                'distance', b.depth)) ORDER BY b.place) AS arms,
            jsonb_agg(jsonb_build_object(
                'source', 'graph', 'depth', b.depth, 'relevance_basis', NULL) ORDER BY b.place)
                AS details
        FROM best AS b
        WHERE b.place > (settings ->> 'offset')::integer
            AND b.place <= (settings ->> 'offset')::integer + result_limit
    )
    SELECT r.*
    FROM page AS a
    CROSS JOIN LATERAL (
        SELECT pgblend._snippets(
            array_agg(coalesce(c.content, '') ORDER BY p.place), array_agg(NULL::text),
            array_agg(c.text_search_config ORDER BY p.place)) AS snippets
        FROM unnest(a.chunk_ids) WITH ORDINALITY AS p (chunk_id, place)
        LEFT JOIN pgblend_data.chunk AS c ON c.id = p.chunk_id
    ) AS s
    CROSS JOIN LATERAL pgblend._fetch_page(
        a.chunk_ids, a.ranks, a.scores, a.relevances, s.snippets, a.arms, a.details, '{}') AS r
    WHERE a.chunk_ids IS NOT NULL;
    SELECT array_agg(pgblend._node_name(p.node)) INTO gone
    FROM pgblend._node_passages(walk.nodes, collection_ids, NULL, NULL, NULL, NULL) AS p
    WHERE p.chunk_id = 0;
    IF gone IS NOT NULL THEN
        RAISE WARNING 'nodes that edges lead to are gone and were skipped: %',
            array_to_string(gone[:10], ', ')
            USING HINT = 'Delete their edges: SELECT * FROM blend.edges';
    END IF;
END;
$function$;
