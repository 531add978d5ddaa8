-- add_links: state what a document cites; returns how many links are new.
-- links is an array of {target, kind, type, weight, line, metadata}. kind says what target is: key
-- (the default) a source key of the collection, name a title, alias or name of a document, path,
-- wiki and uri a link as texts write it. A link whose target is not stored yet dangles until it
-- arrives. Links stay when the document's text is replaced, and go with the document. A link with
-- the same target, kind and type is replaced.
CREATE OR REPLACE FUNCTION blend.add_links(collection text, source_key text, links jsonb)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    source bigint := pgblend._node_id(blend.graph_node(collection, source_key)) >> 2;
    replaced bigint;
BEGIN
    DELETE FROM pgblend_data.link AS l
    USING jsonb_path_query(links, '$[*]') AS n
    WHERE l.document_id = source AND l.origin = 'data' AND l.target = n ->> 'target'
        AND l.kind = coalesce(n ->> 'kind', 'key')
        AND l.edge_type = coalesce(n ->> 'type', 'link');
    GET DIAGNOSTICS replaced = ROW_COUNT;
    RETURN pgblend._insert_links(
        (SELECT d.collection_id FROM pgblend_data.document AS d WHERE d.id = source),
        ARRAY[source], ARRAY[pgblend._uncontrolled_json(links)], 'data') - replaced;
END;
$function$;

-- resolve_links: find anew what all links of a collection mean; returns how many changed.
-- A link is resolved when it is stored, and when its target is. Two sessions that store both at the
-- same time do not see each other. pgblend ingest calls this at its end.
CREATE OR REPLACE FUNCTION blend.resolve_links(collection text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN pgblend._resolve_links((pgblend._writable_collection(collection)).id, NULL);
END;
$function$;

-- _replace_links: replace the links of documents' texts: an array of them for each document.
CREATE OR REPLACE FUNCTION pgblend._replace_links(document_ids bigint[], links jsonb[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    targets bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM pgblend_data.link AS l
        WHERE l.document_id = ANY(document_ids) AND l.origin = 'text'
        RETURNING l.target_document_id
    )

    SELECT array_agg(DISTINCT g.target_document_id) INTO targets
    FROM gone AS g WHERE g.target_document_id IS NOT NULL;
    IF targets IS NOT NULL THEN
        PERFORM pgblend._link_edges(document_ids, targets);
    END IF;
    UPDATE pgblend_data.unsettled AS u
    SET links = jsonb_path_query_array(u.links, '$[*] ? (@.origin == "data")')
    WHERE u.document_id = ANY(document_ids) AND u.links <> '[]';
    PERFORM pgblend._insert_links(
        d.collection_id, array_agg(d.id ORDER BY g.ordinality),
        array_agg(pgblend._uncontrolled_json(g.links) ORDER BY g.ordinality), 'text')
    FROM unnest(document_ids, links) WITH ORDINALITY AS g (id, links)
    INNER JOIN pgblend_data.document AS d ON d.id = g.id
    WHERE g.links <> '[]'
    GROUP BY d.collection_id;
END;
$function$;

-- _link_edges: rebuild the edges from some documents to others, from the links between them.
CREATE OR REPLACE FUNCTION pgblend._link_edges(
    source_document_ids bigint[],
    target_document_ids bigint[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    ends bigint[] := ARRAY(SELECT t * 4 FROM unnest(target_document_ids) AS t);
BEGIN
    DELETE FROM pgblend_data.edge AS e
    WHERE e.document_id = ANY(source_document_ids) AND e.origin IN ('text', 'data')
        AND CASE WHEN e.is_reverse THEN e.node ELSE e.neighbour END = ANY(ends);
    PERFORM pgblend._store_edges(ARRAY(
        SELECT ROW(
            l.document_id * 4, false, l.target_document_id * 4, l.edge_type, l.origin,
            l.document_id, 0, l.collection_id, l.collection_id, l.bucket, max(l.weight),
            (array_agg(l.metadata ORDER BY l.id))[1] || CASE
                WHEN count(l.line) > 0 THEN jsonb_build_object(
                    'lines', jsonb_agg(l.line ORDER BY l.line) FILTER (WHERE l.line IS NOT NULL))
                ELSE '{}' END)::pgblend_data.edge
        FROM pgblend_data.link AS l
        WHERE l.document_id = ANY(source_document_ids)
            AND l.target_document_id = ANY(target_document_ids)
            AND l.document_id <> l.target_document_id
        GROUP BY l.document_id, l.collection_id, l.bucket, l.target_document_id, l.edge_type,
            l.origin));
END;
$function$;

-- _import_links: add links from the temporary table link_stage (source_key, target, edge_type,
-- weight, metadata).
-- Returns how many were stored, how many of those dangle, and which sources are unknown. Stored
-- links with the same source, target and type are replaced.
CREATE OR REPLACE FUNCTION pgblend._import_links(
    collection text,
    OUT stored bigint,
    OUT dangling bigint,
    OUT unknown_sources text[]
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._writable_collection(collection);
    sources bigint[];
    links jsonb[];
    last_id bigint;
BEGIN
    ANALYZE pg_temp.link_stage;  -- else the planner takes it for small
    WITH asked AS MATERIALIZED (
        SELECT d.id, s.target, s.edge_type
        FROM pg_temp.link_stage AS s
        INNER JOIN pgblend_data.document AS d
            ON d.collection_id = target.id AND d.source_key = s.source_key
    )

    DELETE FROM pgblend_data.link AS l
    USING asked AS a
    WHERE l.document_id = a.id AND l.origin = 'data' AND l.kind = 'key'
        AND l.target = a.target AND l.edge_type = a.edge_type;
    SELECT coalesce(max(l.id), 0) INTO last_id FROM pgblend_data.link AS l;
    SELECT
        coalesce(array_agg(d.id ORDER BY s.place), '{}'),
        coalesce(array_agg(jsonb_build_array(jsonb_build_object(
            'target', s.target, 'type', s.edge_type, 'weight', s.weight,
            'metadata', pgblend._uncontrolled_json(s.metadata)))
            ORDER BY s.place), '{}')
    INTO sources, links
    FROM (
        SELECT DISTINCT ON (t.source_key, t.target, t.edge_type) t.*
        FROM pg_temp.link_stage AS t
        ORDER BY t.source_key, t.target, t.edge_type, t.place
    ) AS s
    INNER JOIN pgblend_data.document AS d
        ON d.collection_id = target.id AND d.source_key = s.source_key;
    stored := pgblend._insert_links(target.id, sources, links, 'data');
    SELECT count(*) INTO dangling
    FROM pgblend_data.link AS l
    WHERE l.collection_id = target.id AND l.id > last_id AND l.target_document_id IS NULL;
    unknown_sources := ARRAY(
        SELECT DISTINCT s.source_key FROM pg_temp.link_stage AS s
        WHERE NOT EXISTS (
            SELECT FROM pgblend_data.document AS d
            WHERE d.collection_id = target.id AND d.source_key = s.source_key)
        ORDER BY s.source_key);
END;
$function$;

-- _insert_links: store links of documents of one collection, resolve them, and return how many
-- were stored.
-- links has an array of {target, kind, type, line, weight, metadata} for each of document_ids; what
-- is wrong with one is an error. What leads nowhere by its form (mailto:, a mere fragment) is left
-- out.
CREATE OR REPLACE FUNCTION pgblend._insert_links(
    collection_id bigint,
    document_ids bigint[],
    links jsonb[],
    origin text
)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.graph.edge_rows import insert_links

return db.answer(insert_links, collection_id, document_ids, links, origin)
$python$;

-- _document_record_names: trigger that stores the names of documents and resolves links of those
-- names.
-- Names and links are looked up by index: the session's plan may be of a time when there were none.
CREATE OR REPLACE FUNCTION pgblend._document_record_names()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET enable_seqscan = off
SET jit = off
AS $function$
DECLARE
    renamed bigint[];
    gone_collections bigint[];
    gone_names text[];
    added record;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        renamed := ARRAY(
            SELECT n.id
            FROM new_document AS n
            INNER JOIN old_document AS o ON o.id = n.id
            WHERE (n.source_key, n.title, n.uri, n.metadata)
                IS DISTINCT FROM (o.source_key, o.title, o.uri, o.metadata));
        IF renamed = '{}' THEN
            RETURN NULL;
        END IF;
        WITH deleted AS (
            DELETE FROM pgblend_data.document_name AS n WHERE n.document_id = ANY(renamed)
            RETURNING n.collection_id, n.name
        )

        SELECT array_agg(d.collection_id), array_agg(d.name) INTO gone_collections, gone_names
        FROM deleted AS d;
    END IF;
    IF NOT pgblend._is_answered() THEN
        INSERT INTO pgblend_data.unsettled (document_id, collection_id)
        SELECT d.id, d.collection_id FROM new_document AS d
        WHERE renamed IS NULL OR d.id = ANY(renamed)
        ON CONFLICT ON CONSTRAINT unsettled_pkey DO NOTHING;
        RETURN NULL;
    END IF;
    WITH named AS (
        INSERT INTO pgblend_data.document_name (
            collection_id, document_id, bucket, name, kind, full_name)
        SELECT d.collection_id, d.id, d.bucket, n.name, n.kind, n.full_name
        FROM new_document AS d
        CROSS JOIN LATERAL
            pgblend._document_names(d.source_key, d.title, d.uri, d.metadata) AS n
        WHERE renamed IS NULL OR d.id = ANY(renamed)
        RETURNING collection_id, name
    )

    SELECT array_agg(n.collection_id) AS collections, array_agg(n.name) AS names INTO added
    FROM named AS n;
    PERFORM pgblend._resolve_links(l.collection_id, array_agg(DISTINCT l.name))
    FROM pgblend_data.link AS l
    WHERE (l.collection_id, l.name) IN (
        SELECT t.* FROM unnest(
            added.collections || gone_collections, added.names || gone_names) AS t)
    GROUP BY l.collection_id;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER document_20_record_names AFTER INSERT ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_names();
CREATE OR REPLACE TRIGGER document_20_record_other_names AFTER UPDATE ON pgblend_data.document
REFERENCING OLD TABLE AS old_document NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_names();

-- _resolve_links: find anew what the links of some names (NULL: all) mean, and update their edges;
-- returns how many changed.
-- What a link means depends on the documents there are, not on the order in which they came. Two
-- links to one document give one edge of a type, of the larger weight.
CREATE OR REPLACE FUNCTION pgblend._resolve_links(collection_id bigint, names text[])
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.graph.edge_rows import resolve_links

return db.answer(resolve_links, collection_id, names)
$python$;

-- _document_names: what links may call a document by, normalised: its path, the last part of it,
-- its address in the web, its aliases (metadata: aliases or alias) and its title.
CREATE OR REPLACE FUNCTION pgblend._document_names(
    source_key text,
    title text,
    uri text,
    metadata jsonb
)
RETURNS TABLE (name text, kind text, full_name text)
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
ROWS 4
AS $python$
import json
from pgblend.plpy.graph.names import document_names

about = json.loads(metadata)
aliases = []
for key in ("alias", "aliases"):
    value = about.get(key)
    aliases += value if isinstance(value, list) else [value]
return document_names(
    source_key, title or "", uri, [alias for alias in aliases if isinstance(alias, str)])
$python$;
