-- grant_document: let a role or a group read a document, and no longer all who may read its
-- collection.
-- Who may write to the collection, and admins, see all of its documents in any case. Others need
-- both: to read the collection (grant_collection), and to be among the document's readers. A reader
-- is the name of a role, else that of a group (sign_groups); group:NAME is a group in any case. To
-- grant again changes nothing. What set_document_readers says holds here too.
CREATE OR REPLACE FUNCTION blend.grant_document(collection text, source_key text, reader text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM pgblend._lock_readers(grant_document.collection);
    PERFORM pgblend._place_document(
        grant_document.collection, grant_document.source_key,
        coalesce(pgblend._readers_of(
            grant_document.collection, grant_document.source_key), '{}')
        || ARRAY[grant_document.reader]);
END;
$function$;

-- revoke_document: take from a role or group that it may read a document; whether it might.
-- A document without readers left is read by nobody but those who may write to its collection.
-- set_document_readers(…, NULL) gives it to all readers of the collection again. One that has no
-- readers of its own is an error.
CREATE OR REPLACE FUNCTION blend.revoke_document(collection text, source_key text, reader text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    wanted text := pgblend._reader_key(revoke_document.reader);
    readers text[];
    left_over text[];
BEGIN
    PERFORM pgblend._lock_readers(revoke_document.collection);
    readers := pgblend._readers_of(revoke_document.collection, revoke_document.source_key);
    IF readers IS NULL THEN
        RAISE EXCEPTION 'document "%" has no readers of its own: all who may read "%" do',
            left(source_key, 200), collection
            USING ERRCODE = '22023',
            HINT = 'Name who may: grant_document, or set_document_readers(…, ARRAY[…]).';
    END IF;
    left_over := ARRAY(
        SELECT r.name FROM unnest(readers) AS r (name)
        WHERE pgblend._reader_key(r.name) <> wanted);
    IF cardinality(left_over) = cardinality(readers) THEN
        RETURN false;
    END IF;
    PERFORM pgblend._place_document(
        revoke_document.collection, revoke_document.source_key, left_over);
    RETURN true;
END;
$function$;

-- set_document_readers: say who may read a document: names of roles and groups, as grant_document
-- takes them.
-- NULL: all who may read the collection, as without readers; '{}': nobody but those who may write
-- to it. It holds in this transaction at once. Nothing is embedded anew. The document has a new
-- document_id, and its passages have new numbers. Where somebody loses the right, the lexical index
-- that they see is made anew, so that no word of the document stays there: in a large collection
-- that takes minutes. An unknown document is an error. So is one of an attached table, whose row
-- names its readers (attach_table, rights_column), and one of a database with shards.
CREATE OR REPLACE FUNCTION blend.set_document_readers(
    collection text,
    source_key text,
    readers text[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM pgblend._place_document(
        set_document_readers.collection, set_document_readers.source_key,
        set_document_readers.readers);
END;
$function$;

-- sign_groups: a value of the setting pgblend.groups by which a session of a role holds groups.
-- For applications: SELECT set_config('pgblend.groups', sign_groups(…), true). It counts for that
-- role alone, not for one that is made anew under its name, and ends by itself. For members of
-- pgblend_admin, who may give any groups to any role. No groups give a value that holds none; NULLs
-- and a role that is not there are errors.
CREATE OR REPLACE FUNCTION blend.sign_groups(
    groups text[],
    role_name name,
    valid_for interval DEFAULT '15 minutes'
)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    role_number oid;
BEGIN
    IF num_nulls(groups, role_name, valid_for) > 0 OR array_position(groups, NULL) IS NOT NULL THEN
        RAISE EXCEPTION 'groups is %, role_name %, valid_for %: expected no NULL',
            coalesce(left(groups::text, 200), 'NULL'), coalesce(role_name, 'NULL'),
            coalesce(valid_for::text, 'NULL')
            USING ERRCODE = '22004', HINT = 'For example: sign_groups(ARRAY[''hr''], ''app'')';
    END IF;
    role_number := (SELECT r.oid FROM pg_catalog.pg_roles AS r WHERE r.rolname = role_name);
    IF role_number IS NULL THEN
        RAISE EXCEPTION 'there is no role "%" that could hold groups', role_name
            USING ERRCODE = '42704', HINT = 'Name the role that searches.';
    END IF;
    RETURN pgblend._signed_groups(jsonb_build_object(
        'groups', to_jsonb(groups), 'role', role_number,
        'until', extract(EPOCH FROM clock_timestamp() + valid_for))::text);
END;
$function$;

-- _signed_groups: what a session holds, as the view session_group reads it, with its signature.
-- Runs with its owner's rights: nobody else reads the secret. For admins alone.
CREATE OR REPLACE FUNCTION pgblend._signed_groups(held text)
RETURNS text
LANGUAGE sql
STABLE PARALLEL UNSAFE
SECURITY DEFINER
BEGIN ATOMIC
    SELECT encode(sha256(k.secret || sha256(k.secret || convert_to(held, 'UTF8'))), 'hex') || held
    FROM pgblend_data.group_secret AS k;
END;

-- _readers_of: the readers of a document as grant_document takes them; NULL where it has none of
-- its own. Roles that were dropped or renamed are left out.
CREATE OR REPLACE FUNCTION pgblend._readers_of(collection text, source_key text)
RETURNS text[]
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    RETURN (
        SELECT pgblend._compartment_readers(c.id)
        FROM pgblend_data.document AS d
        INNER JOIN pgblend_data.collection AS c ON d.collection_id = c.id
        WHERE c.parent_id IS NOT NULL AND d.id = pgblend._document_id(ARRAY(
            SELECT n.id FROM pgblend_data.collection AS n
            WHERE n.name = normalize(_readers_of.collection)), _readers_of.source_key));
END;
$function$;

-- _has_own_readers: whether a document has readers of its own; false for one that is gone.
CREATE OR REPLACE FUNCTION pgblend._has_own_readers(document_id bigint)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN EXISTS (
    SELECT FROM pgblend_data.document AS d
    INNER JOIN pgblend_data.collection AS c ON d.collection_id = c.id
    WHERE d.id = _has_own_readers.document_id AND c.parent_id IS NOT NULL
);

-- _lock_readers: until the transaction ends, nobody else changes who reads documents of a
-- collection: what is added to the readers there are is not lost.
CREATE OR REPLACE FUNCTION pgblend._lock_readers(collection text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._writable_collection(collection);
BEGIN
    PERFORM pgblend._lock_compartments(target.id, true);
END;
$function$;

-- _place_document: put a document into the compartment of its readers, or back into the collection.
-- Arguments and errors are those of set_document_readers.
CREATE OR REPLACE FUNCTION pgblend._place_document(
    collection text,
    source_key text,
    readers text[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._writable_collection(collection);
    stored_key text;
    followed record;
BEGIN
    SELECT a.relation::text AS relation, a.rights_column INTO followed
    FROM pgblend_data.attached_table AS a
    WHERE a.collection_id = target.id AND a.rights_column IS NOT NULL;
    IF FOUND THEN
        RAISE EXCEPTION 'readers of a document of "%" are those that its row has in column % of %',
            target.name, followed.rights_column, followed.relation
            USING ERRCODE = '55000', HINT = 'Update the row.';
    END IF;
    PERFORM pgblend._lock_compartments(target.id, true);
    IF readers IS NOT NULL THEN
        PERFORM pgblend._compartment_of(target, readers);  -- what is wrong with them comes first
    END IF;
    SELECT d.source_key INTO stored_key FROM pgblend_data.document AS d
    WHERE d.id = pgblend._document_id(
        pgblend._compartments(target.id), _place_document.source_key);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no document % in collection "%"',
            coalesce('"' || left(source_key, 200) || '"', 'NULL'), target.name
            USING ERRCODE = '42704',
            HINT = 'SELECT collection, source_key FROM blend.documents';
    END IF;
    PERFORM pgblend._place_documents(
        target, ARRAY[stored_key], ARRAY[coalesce(to_jsonb(readers), 'null')]);
END;
$function$;

-- _place_documents: put the documents of these keys that are stored into the compartments of their
-- readers; returns for each key its compartment, NULL where nobody names readers.
-- readers has for each key an array of names, a JSON null for all who may read the collection, or
-- NULL. Where somebody loses a right, the index that they see is made anew, once for all of them.
CREATE OR REPLACE FUNCTION pgblend._place_documents(
    target pgblend_data.collection,
    source_keys text[],
    readers jsonb[]
)
RETURNS bigint[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    places bigint[];
    moved record;
    hashes text[];
    lost bigint[] := '{}';
BEGIN
    PERFORM pgblend._lock_compartments(target.id, true);
    places := pgblend._homes(target, readers);
    FOR moved IN
        SELECT d.id, d.collection_id, k.home
        FROM unnest(source_keys, places) AS k (source_key, home)
        CROSS JOIN LATERAL pgblend._documents_under(target.id, k.source_key) AS u
        INNER JOIN pgblend_data.document AS d
            ON u.id = d.id AND k.home <> d.collection_id
        ORDER BY d.id
        FOR UPDATE OF d
    LOOP
        hashes := ARRAY(
            SELECT DISTINCT h.content_hash FROM pgblend_data.chunk AS h
            WHERE h.document_id = moved.id);
        PERFORM pgblend._move_document(moved.id, moved.home);
        IF pgblend._readers_stay(target.id, moved.collection_id, moved.home) THEN
            CONTINUE;
        END IF;
        lost := lost || moved.collection_id;
        DELETE FROM pgblend_data.entity_extraction AS x
        WHERE x.collection_id = moved.collection_id AND x.content_hash = ANY(hashes)
            AND NOT EXISTS (
                SELECT FROM pgblend_data.chunk AS h
                WHERE h.collection_id = x.collection_id AND h.content_hash = x.content_hash);
    END LOOP;
    -- A seal is waited for: it holds the claim, and waits for nobody.
    PERFORM FROM pgblend_data.index_claim AS c
    WHERE c.collection_id = ANY(lost)
    ORDER BY c.collection_id
    FOR UPDATE;
    IF cardinality(lost) > 0 AND to_regproc('pgblend._told') IS NOT NULL THEN
        -- A door would have it made before the statement, from what is to be hidden.
        RAISE EXCEPTION 'no right to read is taken away on a server without PL/Python: the lexical '
            'index of collection "%" cannot be made anew there within a statement', target.name
            USING ERRCODE = 'PB003', HINT = 'Delete the document, and store it with its readers.';
    ELSIF cardinality(lost) > 0 AND pgblend._check_can_index() AND EXISTS (
        SELECT FROM (SELECT DISTINCT l.id FROM unnest(lost) AS l (id) ORDER BY l.id) AS l
        WHERE pgblend._index_collection(l.id, 'rebuild', 1) IS NULL)
    THEN
        RAISE EXCEPTION 'the lexical index of collection "%" could not be made anew', target.name
            USING ERRCODE = 'PB003', HINT = 'The warning says why. Mend it and call again.';
    END IF;
    RETURN places;
END;
$function$;

-- _homes: the compartments for sets of readers, as _place_documents takes and returns them; those
-- that are not there are made.
CREATE OR REPLACE FUNCTION pgblend._homes(target pgblend_data.collection, readers jsonb[])
RETURNS bigint[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN (
        WITH home AS MATERIALIZED (
            SELECT n.names, CASE WHEN n.names <> 'null' THEN
                pgblend._compartment_of(target, ARRAY(SELECT jsonb_array_elements_text(n.names)))
                ELSE target.id END AS id
            FROM (SELECT DISTINCT r.names FROM unnest(readers) AS r (names)) AS n
            WHERE n.names IS NOT NULL
        )
        SELECT array_agg(h.id ORDER BY n.place)
        FROM unnest(readers) WITH ORDINALITY AS n (names, place)
        LEFT JOIN home AS h ON n.names = h.names);
END;
$function$;

-- _readers_stay: whether all who read a compartment of a collection, or the collection, read
-- another one too.
CREATE OR REPLACE FUNCTION pgblend._readers_stay(parent bigint, before bigint, after bigint)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN after = parent OR before <> parent AND NOT EXISTS (
    SELECT FROM unnest(pgblend._compartment_readers(before)) AS b (name)
    WHERE pgblend._reader_key(b.name) NOT IN (
        SELECT pgblend._reader_key(a.name)
        FROM unnest(pgblend._compartment_readers(after)) AS a (name)
    )
);

-- _compartment_readers: who may read the documents of a compartment, of those whom the caller may
-- see; groups as group:NAME. Roles that were dropped or renamed are left out.
CREATE OR REPLACE FUNCTION pgblend._compartment_readers(compartment bigint)
RETURNS text[]
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT CASE WHEN r.is_group THEN 'group:' ELSE '' END || r.reader
    FROM pgblend_data.document_reader AS r
    WHERE r.collection_id = compartment AND (
        r.is_group OR EXISTS (
            SELECT FROM pg_catalog.pg_roles AS o
            WHERE o.rolname = r.reader AND (
                o.oid = r.role_oid
                OR r.made_in <> (SELECT s.system_identifier FROM pg_control_system() AS s)
            )
        )
    )
    ORDER BY r.is_group, r.reader
);

-- _reader_key: what tells a reader: role:NUMBER where there is a role of the name, else group:NAME.
-- group:NAME is a group in any case. A blank name, and one of more than 63 bytes, is an error.
CREATE OR REPLACE FUNCTION pgblend._reader_key(reader text)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    group_name text := CASE WHEN starts_with(reader, 'group:') THEN substr(reader, 7)
        ELSE reader END;
BEGIN
    IF coalesce(btrim(group_name), '') = '' OR octet_length(group_name) > 63 THEN
        RAISE EXCEPTION 'reader is %: expected the name of a role or group, of 1 to 63 bytes',
            coalesce(quote_literal(left(reader, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: hr, or group:hr';
    END IF;
    RETURN coalesce(
        (SELECT 'role:' || r.oid FROM pg_catalog.pg_roles AS r WHERE r.rolname = reader),
        'group:' || group_name);
END;
$function$;

-- _move_document: store a document in another compartment as it is, with passages, vectors,
-- summary, links and edges made by hand, and delete it where it was; returns its new number.
-- So nothing of it stays, and what makes a document findable makes this one. Its links are looked
-- up anew: one leads no further than its compartment.
CREATE OR REPLACE FUNCTION pgblend._move_document(document_id bigint, target bigint)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    moved pgblend_data.document;
    summed pgblend_data.document_summary;
    chunks pgblend_data.chunk[];
    links pgblend_data.link[];
    edges pgblend_data.edge[];
    noted pgblend_data.unsettled;
    vectors jsonb;
    new_id bigint;
BEGIN
    SELECT d.* INTO STRICT moved FROM pgblend_data.document AS d
    WHERE d.id = _move_document.document_id;
    SELECT m.* INTO summed FROM pgblend_data.document_summary AS m WHERE m.document_id = moved.id;
    chunks := ARRAY(SELECT c FROM pgblend_data.chunk AS c WHERE c.document_id = moved.id);
    SELECT u.* INTO noted FROM pgblend_data.unsettled AS u WHERE u.document_id = moved.id;
    links := ARRAY(SELECT l FROM pgblend_data.link AS l WHERE l.document_id = moved.id);
    edges := ARRAY(
        SELECT e FROM pgblend_data.edge AS e
        WHERE e.origin = 'hand' AND (e.node = moved.id * 4 OR e.neighbour = moved.id * 4));
    vectors := pgblend._kept_vectors(ARRAY[moved.id], NULL);

    DELETE FROM pgblend_data.document AS d WHERE d.id = moved.id;
    INSERT INTO pgblend_data.document (
        collection_id, bucket, source_key, uri, title, text_search_config, media_type, metadata,
        set_metadata, source_metadata, content_hash, modified_at, ingested_at)
    VALUES (
        target, pgblend._bucket(target, moved.source_key), moved.source_key, moved.uri,
        moved.title, moved.text_search_config, moved.media_type, moved.metadata,
        moved.set_metadata, moved.source_metadata, moved.content_hash, moved.modified_at,
        moved.ingested_at)
    RETURNING id INTO new_id;
    INSERT INTO pgblend_data.chunk (
        document_id, chunk_index, collection_id, bucket, content, heading, kind, own_start,
        start_offset, end_offset, start_line, end_line, pages, token_count, piece_tokens, metadata,
        text_search_config, context, own_headings)
    SELECT
        d.id, c.chunk_index, d.collection_id, d.bucket, c.content, c.heading, c.kind, c.own_start,
        c.start_offset, c.end_offset, c.start_line, c.end_line, c.pages, c.token_count,
        c.piece_tokens, c.metadata, c.text_search_config, c.context, c.own_headings
    FROM unnest(chunks) AS c
    INNER JOIN pgblend_data.document AS d ON d.id = new_id
    ORDER BY c.chunk_index;
    IF noted.document_id IS NOT NULL THEN
        INSERT INTO pgblend_data.unsettled AS u (document_id, collection_id, content, links)
        VALUES (new_id, target, noted.content, noted.links)
        ON CONFLICT ON CONSTRAINT unsettled_pkey DO UPDATE
        SET content = excluded.content, links = excluded.links;
    END IF;
    PERFORM pgblend._give_vectors(vectors, new_id);
    IF summed.document_id IS NOT NULL THEN
        INSERT INTO pgblend_data.document_summary AS m (
            document_id, collection_id, bucket, summary, key, made_by, outdated, failures, reason,
            made_at)
        SELECT
            d.id, d.collection_id, d.bucket, summed.summary, summed.key, summed.made_by,
            summed.outdated, summed.failures, summed.reason, summed.made_at
        FROM pgblend_data.document AS d WHERE d.id = new_id
        ON CONFLICT ON CONSTRAINT document_summary_pkey DO UPDATE
        SET summary = excluded.summary, key = excluded.key, made_by = excluded.made_by,
            outdated = excluded.outdated, failures = excluded.failures, reason = excluded.reason,
            made_at = excluded.made_at;
    END IF;
    INSERT INTO pgblend_data.link (
        document_id, collection_id, bucket, origin, edge_type, kind, target, name, path, line,
        weight, metadata)
    SELECT
        d.id, d.collection_id, d.bucket, l.origin, l.edge_type, l.kind, l.target, l.name, l.path,
        l.line, l.weight, l.metadata
    FROM unnest(links) AS l
    INNER JOIN pgblend_data.document AS d ON d.id = new_id;
    IF cardinality(links) > 0 THEN
        PERFORM pgblend._resolve_links(target, ARRAY(SELECT DISTINCT l.name FROM unnest(links) AS l));
    END IF;
    INSERT INTO pgblend_data.edge (
        node, is_reverse, neighbour, edge_type, origin, document_id, chunk_id, collection_id,
        neighbour_collection_id, bucket, weight, metadata)
    SELECT
        CASE WHEN e.node = moved.id * 4 THEN new_id * 4 ELSE e.node END, e.is_reverse,
        CASE WHEN e.neighbour = moved.id * 4 THEN new_id * 4 ELSE e.neighbour END,
        e.edge_type, e.origin,
        CASE WHEN e.document_id = moved.id THEN new_id ELSE e.document_id END, e.chunk_id,
        CASE WHEN e.node = moved.id * 4 THEN target ELSE e.collection_id END,
        CASE WHEN e.neighbour = moved.id * 4 THEN target ELSE e.neighbour_collection_id END,
        CASE WHEN e.node = moved.id * 4 THEN pgblend._bucket(target, moved.source_key)
            ELSE e.bucket END,
        e.weight, e.metadata
    FROM unnest(edges) AS e
    WHERE e.chunk_id = 0;
    RETURN new_id;
END;
$function$;
