-- link_mentions: make edges of type mentions to documents that a text of their collection names, by
-- title or alias; returns how many.
-- Names are compared without case and punctuation, "(film)" at their end may be missing, and the
-- longest counts. A name counts for nothing where it has fewer than three letters, is of more than
-- five documents, or is mentioned by more than max(10, 1 %) of them. All texts are read anew, since
-- a new title may be in any of them. Only edges that come or go are written. They belong to
-- passages, and go when a text is replaced. On a coordinator of shards they join documents of any.
CREATE OR REPLACE FUNCTION blend.link_mentions(collection text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN pgblend._link_mentions((pgblend._writable_collection(collection)).id);
END;
$function$;

-- _link_mentions: link_mentions of a collection that the caller may write to.
-- All texts are read anew, since a new title may be in any of them, but only edges that come or go
-- are written.
CREATE OR REPLACE FUNCTION pgblend._link_mentions(collection_id bigint)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.graph.edge_rows import TEXTS, link_mentions

texts = plpy.cursor(plpy.prepare(TEXTS, ["bigint"]), [collection_id])
return link_mentions(db, collection_id, texts)
$python$;

-- _link_entities: store the entities and relations that a model found in a collection's passages;
-- returns how many passages have any.
-- Entities are merged by normalised name and type. A passage is joined to those that it names
-- (_names_entity), whatever the model says; a relation joins two of them. An edge belongs to the
-- passage that says so. Passages with edges of this version are left alone; edges of another
-- version go first.
CREATE OR REPLACE FUNCTION pgblend._link_entities(collection_id bigint, version text)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.names import entity_edges

CLEAR = "SELECT pgblend._clear_model_edges($1, $2) AS nodes"
PASSAGES = plpy.prepare(
    "SELECT p.* FROM pgblend._named_entities($1, $2, 0, NULL) AS p", ["bigint", "text"])
ENTITIES = plpy.prepare(
    "INSERT INTO pgblend_data.entity (collection_id, bucket, entity_type, name_key, name,"
    " description) SELECT $1, pgblend._bucket($1, u.entity_type || ':' || u.name_key),"
    " u.entity_type, u.name_key, u.name, u.description FROM unnest($2, $3, $4, $5)"
    " AS u (entity_type, name_key, name, description)"
    " ON CONFLICT ON CONSTRAINT entity_collection_id_entity_type_name_key_key"
    " DO UPDATE SET description = coalesce(entity.description, excluded.description)"
    " RETURNING id, entity_type, name_key", ["bigint"] + ["text[]"] * 4)
EDGES = plpy.prepare(
    "SELECT pgblend._store_edges(ARRAY(SELECT ROW(u.source, false, u.target, u.edge_type, 'model',"
    " $1, $2, NULL, NULL, NULL, 1, jsonb_build_object('version', $6::text))::pgblend_data.edge"
    " FROM unnest($3, $4, $5) AS u (source, target, edge_type)))",
    ["bigint", "bigint", "bigint[]", "bigint[]", "text[]", "text"])

gone = db.run(CLEAR, ["bigint", "text"], collection_id, version)[0]["nodes"]
joined = 0
for row in plpy.cursor(PASSAGES, [collection_id, version]):
    entities, relations = entity_edges(json.loads(row["result"]))
    if not entities:
        continue
    stored = plpy.execute(ENTITIES, [collection_id, *(
        [entity[name] for entity in entities] for name in ("type", "key", "name", "description"))])
    nodes = {(one["entity_type"], one["name_key"]): one["id"] * 4 + 2 for one in stored}
    chunk = row["chunk_id"] * 4 + 1
    edges = [(chunk, node, "mentions") for node in nodes.values()]
    edges += [(nodes[source], nodes[target], kind) for source, target, kind in relations]
    columns = map(list, zip(*dict.fromkeys(edges)))
    plpy.execute(EDGES, [row["document_id"], row["chunk_id"], *columns, version])
    joined += 1
if gone:
    db.run("SELECT pgblend._drop_lone_entities($1, $2)", ["bigint[]", "bigint"], gone, collection_id)
return joined
$python$;

-- _named_entities: passages of a collection that have no edges of a model, with what it found in
-- each, less the entities that the passage does not name; in the order of their ids.
-- They come after the passage `after`, and NULL `most` are all. No passage whose text had none.
CREATE OR REPLACE FUNCTION pgblend._named_entities(
    collection_id bigint,
    version text,
    after bigint,
    most integer
)
RETURNS TABLE (chunk_id bigint, document_id bigint, result jsonb)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT c.id, c.document_id, jsonb_set(x.result, '{entities}', coalesce((
        SELECT jsonb_agg(e.entity ORDER BY e.place)
        FROM jsonb_array_elements(x.result -> 'entities') WITH ORDINALITY AS e (entity, place)
        WHERE pgblend._names_entity(
            c.text_search_config, c.lexemes, concat_ws(' ', d.title, c.heading, c.content),
            e.entity ->> 'name')), '[]'))
    FROM pgblend_data.chunk AS c
    INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
    INNER JOIN pgblend_data.entity_extraction AS x
        ON x.collection_id = c.collection_id AND x.content_hash = c.content_hash
            AND x.version = _named_entities.version
    WHERE c.collection_id = _named_entities.collection_id AND c.id > after
        AND jsonb_array_length(x.result -> 'entities') > 0
        AND NOT EXISTS (
            SELECT FROM pgblend_data.edge AS e
            WHERE e.chunk_id = c.id AND e.chunk_id <> 0 AND e.origin = 'model')
    ORDER BY c.id
    LIMIT most;
END;
$function$;

-- _names_entity: whether a passage names an entity: its title, heading or text has the words of the
-- name in a row.
-- The passage's configuration parses both, so Goethes is Goethe in German. A name of stop words
-- only (The Who) is looked for as written. `words` are title, heading and text, `lexemes` what is
-- indexed of them. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._names_entity(
    config_name text,
    lexemes tsvector,
    words text,
    entity_name text
)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
STRICT
SET client_min_messages = warning
AS $function$
DECLARE
    config regconfig := pgblend._regconfig(config_name);
    phrase tsquery := phraseto_tsquery(config, pgblend._indexable_text(entity_name, config));
BEGIN
    IF numnode(phrase) = 0 THEN
        RETURN to_tsvector('simple', pgblend._indexable_text(words, 'simple'))
            @@ phraseto_tsquery('simple', pgblend._indexable_text(entity_name, 'simple'));
    END IF;
    RETURN lexemes @@ phrase;
END;
$function$;

-- _clear_model_edges: delete edges that a model of another version found in a collection; returns
-- their ends, NULL where there were none.
CREATE OR REPLACE FUNCTION pgblend._clear_model_edges(collection_id bigint, version text)
RETURNS bigint[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    nodes bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM pgblend_data.edge AS e
        WHERE e.collection_id = _clear_model_edges.collection_id AND e.origin = 'model'
            AND e.metadata ->> 'version' IS DISTINCT FROM _clear_model_edges.version
        RETURNING e.node
    )

    SELECT array_agg(DISTINCT g.node) INTO nodes FROM gone AS g;
    RETURN nodes;
END;
$function$;

-- _drop_lone_entities: delete those of some nodes that are entities without an edge.
-- On a shard their edges may be on others: it notes them, for the coordinator to look at
-- (graph_change), under a collection that the caller writes to.
CREATE OR REPLACE FUNCTION pgblend._drop_lone_entities(nodes bigint[], collection_id bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF EXISTS (SELECT FROM pgblend_data.shard_self) THEN
        INSERT INTO pgblend_data.graph_change (collection_id, node)
        SELECT DISTINCT _drop_lone_entities.collection_id, n FROM unnest(nodes) AS n WHERE n & 3 = 2;
        RETURN;
    END IF;
    DELETE FROM pgblend_data.entity AS t
    WHERE t.id IN (SELECT n >> 2 FROM unnest(nodes) AS n WHERE n & 3 = 2)
        AND NOT EXISTS (SELECT FROM pgblend_data.edge AS e WHERE e.node = t.id * 4 + 2);
END;
$function$;

-- _entity_passages: how many passages speak of entities, which are nodes; none is no row.
CREATE OR REPLACE FUNCTION pgblend._entity_passages(nodes bigint[])
RETURNS TABLE (node bigint, passages bigint)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 100
AS $function$
BEGIN
    RETURN QUERY
    SELECT e.node, count(*)
    FROM pgblend_data.edge AS e
    WHERE e.node = ANY(nodes) AND e.is_reverse AND e.neighbour & 3 = 1
    GROUP BY e.node;
END;
$function$;
