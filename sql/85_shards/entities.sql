-- _clear_entity_edges: delete edges on this shard that a model of another version found, and note
-- entities which may be without an edge now.
CREATE OR REPLACE FUNCTION pgblend._clear_entity_edges(collection text, version text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    own_id bigint := (pgblend._writable_collection(collection)).id;
BEGIN
    PERFORM pgblend._drop_lone_entities(pgblend._clear_model_edges(own_id, version), own_id);
END;
$function$;

-- _drop_entities: delete entities of this shard that no shard has an edge of, but those that were
-- touched since their marks were read: an edge has come, or is about to.
CREATE OR REPLACE FUNCTION pgblend._drop_entities(marks jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    DELETE FROM pgblend_data.entity AS t
    USING jsonb_to_recordset(marks) AS m (node bigint, mark text)
    WHERE t.id = m.node >> 2 AND t.xmin::text = m.mark;
END;
$function$;

-- _entity_marks: those of some nodes that are entities of this shard, each with a mark that changes
-- whenever it is touched.
CREATE OR REPLACE FUNCTION pgblend._entity_marks(nodes jsonb)
RETURNS TABLE (node bigint, mark text)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT t.id * 4 + 2, t.xmin::text
    FROM pgblend_data.entity AS t
    WHERE t.id IN (
        SELECT n::bigint >> 2 FROM jsonb_array_elements_text(nodes) AS n WHERE n::bigint & 3 = 2);
END;
$function$;

-- _keep_entities: store those of some entities that are of this shard; returns their nodes.
-- An entity is {shard, type, key, name, description}. Where is_first, it has no edge yet, and is
-- noted, for the coordinator to look whether one came. Each is touched, so that who has not seen
-- its edges does not delete it (_drop_entities).
CREATE OR REPLACE FUNCTION pgblend._keep_entities(collection text, entities jsonb, is_first boolean)
RETURNS TABLE (node bigint, entity_type text, name_key text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    own_id bigint := (pgblend._writable_collection(collection)).id;
BEGIN
    RETURN QUERY
    WITH kept AS (
        INSERT INTO pgblend_data.entity AS t (
            collection_id, bucket, entity_type, name_key, name, description)
        SELECT own_id, pgblend._bucket(own_id, e.type || ':' || e.key), e.type, e.key, e.name,
            e.description
        FROM jsonb_to_recordset(entities)
            AS e (shard integer, type text, key text, name text, description text)
        INNER JOIN pgblend_data.shard_self AS s ON s.number = e.shard
        ORDER BY e.type, e.key
        ON CONFLICT ON CONSTRAINT entity_collection_id_entity_type_name_key_key
        DO UPDATE SET description = coalesce(t.description, excluded.description)
        RETURNING t.id, t.entity_type, t.name_key
    ), noted AS (
        INSERT INTO pgblend_data.graph_change (collection_id, node)
        SELECT own_id, k.id * 4 + 2 FROM kept AS k WHERE is_first
    )

    SELECT k.id * 4 + 2, k.entity_type, k.name_key FROM kept AS k;
END;
$function$;

-- _keep_mentions: make the edges of mentions in passages of this shard those that are given;
-- returns how many of them are here.
-- mentions is an array of [document, chunk, document meant, name], of other shards too. Documents
-- meant that are not here are noted: they may have gone meanwhile (_settle_graph).
CREATE OR REPLACE FUNCTION pgblend._keep_mentions(collection text, mentions jsonb)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.edge_rows import keep_mentions
from pgblend.plpy.shards.relay import writable_id

HERE = (
    "SELECT c.id FROM pgblend_data.chunk AS c WHERE c.collection_id = $1 AND c.id = ANY($2)")
NOTE = (
    "INSERT INTO pgblend_data.graph_change (collection_id, node) SELECT $1, m.id * 4"
    " FROM unnest($2) AS m (id)"
    " WHERE NOT EXISTS (SELECT FROM pgblend_data.document AS d WHERE d.id = m.id)")
own_id = writable_id(db, collection)
given = [tuple(one) for one in json.loads(mentions)]
rows = db.run(HERE, ["bigint", "bigint[]"], own_id, sorted({one[1] for one in given}))
here = {row["id"] for row in rows}
wanted = [one for one in given if one[1] in here]
db.run(NOTE, ["bigint", "bigint[]"], own_id, keep_mentions(db, own_id, wanted))
return len(wanted)
$python$;

-- _keep_span: trigger that refuses another span of buckets than a collection was made with.
-- Its documents would stand where no search looks. Only what gives a shard its coordinator's front
-- may change it (_apply_front).
CREATE OR REPLACE FUNCTION pgblend._keep_span()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF current_setting('pgblend.gives_front', true) = 'on' THEN
        RETURN new;
    END IF;
    RAISE EXCEPTION 'the buckets of collection "%" cannot be changed', old.name
        USING ERRCODE = 'feature_not_supported',
        HINT = 'Its documents would not be found. Make another collection and ingest again.';
END;
$function$;

CREATE OR REPLACE TRIGGER collection_10_keep_span BEFORE UPDATE OF buckets
ON pgblend_data.collection
FOR EACH ROW WHEN (old.buckets IS DISTINCT FROM new.buckets) EXECUTE FUNCTION pgblend._keep_span();

-- _mention_names: how many documents of a collection are on this shard, and their titles and
-- aliases, an array of [document, name].
CREATE OR REPLACE FUNCTION pgblend._mention_names(collection text)
RETURNS TABLE (documents bigint, names jsonb)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.edge_rows import count_of, names_of
from pgblend.plpy.shards.relay import writable_id

own_id = writable_id(db, collection)
names = [(row["id"], row["name"]) for row in names_of(db, own_id)]
return [(count_of(db, own_id), json.dumps(names))]
$python$;

-- _names_found: which of some names passages of a collection on this shard have.
-- Names are an array of words made comparable, as link_name gives them. One that more than most
-- documents mention here is told once, without a passage.
CREATE OR REPLACE FUNCTION pgblend._names_found(collection text, names jsonb, most bigint)
RETURNS TABLE (document_id bigint, chunk_id bigint, name text)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.edge_rows import TEXTS
from pgblend.plpy.graph.names import NameFinder, common_names
from pgblend.plpy.shards.relay import writable_id

own_id = writable_id(db, collection)
texts = plpy.cursor(plpy.prepare(TEXTS, ["bigint"]), [own_id])
found = NameFinder(json.loads(names)).found_in(texts)
common = common_names(found, most)
yield from ((None, None, name) for name in sorted(common))
yield from (one for one in found if one[2] not in common)
$python$;

-- _passage_entities: what a model found in some passages of this shard that have no edges of it.
-- after has the last passage that was looked at, by the number of the shard. entities are {type,
-- key, name, description}, relations [source, target, type], of which both ends are [type, key].
CREATE OR REPLACE FUNCTION pgblend._passage_entities(
    collection text,
    version text,
    after jsonb,
    most integer
)
RETURNS TABLE (shard integer, chunk_id bigint, entities jsonb, relations jsonb)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.names import entity_edges

PASSAGES = (
    "SELECT s.number, p.chunk_id, p.result FROM pgblend_data.shard_self AS s CROSS JOIN LATERAL"
    " pgblend._named_entities((pgblend._writable_collection($1)).id, $2,"
    " coalesce(($3::jsonb ->> s.number::text)::bigint, 0), $4) AS p")
rows = db.run(PASSAGES, ["text", "text", "text", "integer"], collection, version, after, most)
return [
    (row["number"], row["chunk_id"], *map(json.dumps, entity_edges(json.loads(row["result"]))))
    for row in rows
]
$python$;

-- _document_markers: what tells that anything of a document changed, for those of some buckets, by
-- their numbers.
-- A marker is a digest of the versions of all rows that a move copies. Only a superuser calls it.
CREATE OR REPLACE FUNCTION pgblend._document_markers(buckets smallint[])
RETURNS TABLE (document_id bigint, marker bigint)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    -- Calls in text: none (tables of spaces).
    RETURN QUERY EXECUTE 'SELECT d.id, hashtextextended(concat_ws('';'', d.xmin,
        (SELECT string_agg(concat_ws('' '', c.id, c.xmin), '','' ORDER BY c.id)
            FROM pgblend_data.chunk AS c WHERE c.document_id = d.id),
        (SELECT string_agg(concat_ws('' '', l.id, l.kind, l.target, l.weight), '','' ORDER BY l.id)
            FROM pgblend_data.link AS l WHERE l.document_id = d.id),
        (SELECT string_agg(concat_ws('' '', q.space, q.chunk_id, q.attempts, q.dead_at), '',''
                ORDER BY q.space, q.chunk_id)
            FROM pgblend_data.embedding_queue AS q
            INNER JOIN pgblend_data.chunk AS c ON c.id = q.chunk_id
            WHERE c.document_id = d.id),
        (SELECT string_agg(concat_ws('' '', r.constraint_name, r.target_columns, r.target_key),
                '','' ORDER BY r.constraint_name)
            FROM pgblend_data.key_reference AS r WHERE r.document_id = d.id),
        (SELECT s.xmin::text FROM pgblend_data.document_summary AS s WHERE s.document_id = d.id)'
    || coalesce((
        SELECT string_agg(format(',
        (SELECT string_agg(concat_ws('' '', e.chunk_id, e.xmin), '','' ORDER BY e.chunk_id)
            FROM pgblend_data.chunk AS c
            INNER JOIN pgblend_data.%I AS e ON e.chunk_id = c.id
            WHERE c.document_id = d.id)', s.table_name), '' ORDER BY s.name)
        FROM pgblend_data.embedding_space AS s), '')
    || '), 0) FROM pgblend_data.document AS d WHERE d.bucket = ANY($1) ORDER BY d.id'
    USING buckets;
END;
$function$;
