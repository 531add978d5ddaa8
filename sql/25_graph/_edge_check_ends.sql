-- _edge_check_ends: trigger that refuses edges of which an end is not of the collection that the
-- edge names for it, or what says so is of neither.
-- Definer, since row security of what is looked up would cost most of the time; row security of the
-- rows themselves lets them name collections that the caller may write to or see. What the caller
-- may not see is refused in the same words as what is not there. One look at all rows of a
-- statement: a policy would look up each, in a plan of many subqueries.
CREATE OR REPLACE FUNCTION pgblend._edge_check_ends()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    stray bigint;
BEGIN
    SELECT n.node INTO stray
    FROM (
        SELECT e.node, e.collection_id, e.collection_id AS other_collection_id
        FROM new_edge AS e
        UNION
        SELECT e.neighbour, e.neighbour_collection_id, e.neighbour_collection_id
        FROM new_edge AS e
        UNION
        SELECT e.document_id * 4, e.collection_id, e.neighbour_collection_id
        FROM new_edge AS e
        WHERE e.document_id <> 0 AND e.document_id * 4 NOT IN (e.node, e.neighbour)
        UNION
        SELECT e.chunk_id * 4 + 1, e.collection_id, e.neighbour_collection_id
        FROM new_edge AS e
        WHERE e.chunk_id <> 0
    ) AS n
    WHERE (
        CASE n.node & 3
            WHEN 0 THEN (
                SELECT d.collection_id FROM pgblend_data.document AS d WHERE d.id = n.node >> 2)
            WHEN 1 THEN (
                SELECT c.collection_id FROM pgblend_data.chunk AS c WHERE c.id = n.node >> 2)
            WHEN 2 THEN (
                SELECT t.collection_id FROM pgblend_data.entity AS t WHERE t.id = n.node >> 2)
        END IN (n.collection_id, n.other_collection_id)) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'an edge names what is not of its collections'
            USING ERRCODE = '42501',
            DETAIL = format('It names %s.', pgblend._node_name(stray)),
            HINT = 'add_edge(source, target) stores edges of two nodes.';
    END IF;
    RETURN NULL;
END;
$function$;
