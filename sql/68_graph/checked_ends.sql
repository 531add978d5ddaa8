-- _edge_check_ends: trigger that refuses edges whose ends or source are not of the collections that
-- they name.
-- Definer, since row security of what it looks up would cost most of the time. Row security of the
-- edges lets them name collections that the caller may write or see. What the caller may not see is
-- refused in the same words as what is not there. It looks once at all rows of a statement; a
-- policy would look up each, in a plan of many subqueries. On a shard an end that is not here is on
-- another one: of which collection it is, the coordinator looks at before it follows the edge.
CREATE OR REPLACE FUNCTION pgblend._edge_check_ends()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    is_shard CONSTANT boolean := EXISTS (SELECT FROM pgblend_data.shard_self);
    stray bigint;
BEGIN
    SELECT n.node INTO stray
    FROM (
        SELECT e.node, e.collection_id, e.collection_id AS other_collection_id, is_shard AS may_be_far
        FROM new_edge AS e
        UNION
        SELECT e.neighbour, e.neighbour_collection_id, e.neighbour_collection_id, is_shard
        FROM new_edge AS e
        UNION
        SELECT e.document_id * 4, e.collection_id, e.neighbour_collection_id, false
        FROM new_edge AS e
        WHERE e.document_id <> 0 AND (is_shard OR e.document_id * 4 NOT IN (e.node, e.neighbour))
        UNION
        SELECT e.chunk_id * 4 + 1, e.collection_id, e.neighbour_collection_id, false
        FROM new_edge AS e
        WHERE e.chunk_id <> 0
    ) AS n
    WHERE (
        coalesce(
            CASE n.node & 3
                WHEN 0 THEN (
                    SELECT d.collection_id FROM pgblend_data.document AS d WHERE d.id = n.node >> 2)
                WHEN 1 THEN (
                    SELECT c.collection_id FROM pgblend_data.chunk AS c WHERE c.id = n.node >> 2)
                WHEN 2 THEN (
                    SELECT t.collection_id FROM pgblend_data.entity AS t WHERE t.id = n.node >> 2)
            END,
            CASE WHEN n.may_be_far THEN n.collection_id END
        ) IN (n.collection_id, n.other_collection_id)) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'an edge names a node that is not of its collections'
            USING ERRCODE = '42501',
            DETAIL = format('It names %s.', pgblend._node_name(stray)),
            HINT = 'add_edge(source, target) stores edges of two nodes.';
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER edge_10_check_ends AFTER INSERT ON pgblend_data.edge
REFERENCING NEW TABLE AS new_edge
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._edge_check_ends();
CREATE OR REPLACE TRIGGER edge_10_check_other_ends AFTER UPDATE ON pgblend_data.edge
REFERENCING NEW TABLE AS new_edge
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._edge_check_ends();

-- _link_check_target: trigger that refuses links to documents of another collection.
-- Definer, and with one message for hidden and missing documents, as _edge_check_ends; a document
-- that is not on this shard is on another.
CREATE OR REPLACE FUNCTION pgblend._link_check_target()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    stray bigint;
BEGIN
    SELECT n.id INTO stray
    FROM (
        SELECT DISTINCT l.target_document_id AS id, l.collection_id
        FROM new_link AS l
        WHERE l.target_document_id IS NOT NULL
    ) AS n
    WHERE n.collection_id IS DISTINCT FROM coalesce(
        (SELECT d.collection_id FROM pgblend_data.document AS d WHERE d.id = n.id),
        CASE WHEN EXISTS (SELECT FROM pgblend_data.shard_self) THEN n.collection_id END)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a link leads to a document that is not of its collection'
            USING ERRCODE = '42501', DETAIL = format('It leads to document:%s.', stray),
            HINT = 'add_links(collection, source_key, links) stores links of a document.';
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER link_10_check_target AFTER INSERT ON pgblend_data.link
REFERENCING NEW TABLE AS new_link
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._link_check_target();
CREATE OR REPLACE TRIGGER link_10_check_other_target AFTER UPDATE ON pgblend_data.link
REFERENCING NEW TABLE AS new_link
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._link_check_target();
