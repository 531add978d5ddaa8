-- _compartment_of: the compartment of a collection for readers as grant_document takes them; it is
-- made where there is none.
-- Wrong names are errors, and so is a collection whose documents can have no readers of their own.
CREATE OR REPLACE FUNCTION pgblend._compartment_of(
    target pgblend_data.collection,
    readers text[]
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    keys text[];
BEGIN
    PERFORM pgblend._check_size('readers', cardinality(readers), 'items', 'array_items');
    IF EXISTS (
        SELECT FROM pgblend_data.attached_table AS a
        WHERE a.collection_id = target.id AND a.rights_column IS NULL)
        OR EXISTS (SELECT FROM pgblend_data.shard)
        OR EXISTS (SELECT FROM pgblend_data.shard_self)
    THEN
        RAISE EXCEPTION 'documents of "%" have no readers of their own: it follows a table, or the '
            'database has shards', target.name
            USING ERRCODE = '0A000',
            HINT = 'Name the readers of rows in a column: rights_column of attach_table. Or put the '
                'documents into a collection of their own, and grant that: grant_collection.';
    END IF;
    keys := ARRAY(
        SELECT DISTINCT pgblend._reader_key(r.name) AS key FROM unnest(readers) AS r (name)
        ORDER BY key);
    IF pgblend._acts_as_owner() THEN
        RETURN pgblend._make_compartment(target.id, keys);
    END IF;
    RETURN pgblend._compartment(target.id, keys);
END;
$function$;

-- _compartment: _make_compartment for whoever may write to the collection, else 42501.
-- Runs with its owner's rights: writers make no collections and grants.
CREATE OR REPLACE FUNCTION pgblend._compartment(parent bigint, readers text[])
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    PERFORM pgblend._check_may_place(parent);
    RETURN pgblend._make_compartment(parent, readers);
END;
$function$;

-- _make_compartment: the compartment of a collection that has these readers (_reader_key), in
-- ascending order; it is made where there is none, and then the others are locked.
-- For the owner alone.
CREATE OR REPLACE FUNCTION pgblend._make_compartment(parent bigint, readers text[])
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    -- With the secret: who reads the digest cannot try names of other readers.
    digest text := (
        SELECT encode(sha256(k.secret || convert_to(to_jsonb(readers)::text, 'UTF8')), 'hex')
        FROM pgblend_data.group_secret AS k);
    found_id bigint;
BEGIN
    SELECT c.id INTO found_id FROM pgblend_data.collection AS c
    WHERE c.parent_id = parent AND c.readers_digest = digest;
    IF FOUND THEN
        RETURN found_id;
    END IF;
    PERFORM pgblend._hold_compartments(parent, true);
    SELECT c.id INTO found_id FROM pgblend_data.collection AS c
    WHERE c.parent_id = parent AND c.readers_digest = digest;
    IF FOUND THEN
        RETURN found_id;
    END IF;
    INSERT INTO pgblend_data.collection (
        name, text_search_config, settings, buckets, parent_id, readers_digest)
    SELECT c.name, c.text_search_config, c.settings, c.buckets, c.id, digest
    FROM pgblend_data.collection AS c
    WHERE c.id = parent AND c.parent_id IS NULL
    RETURNING id INTO STRICT found_id;
    INSERT INTO pgblend_data.document_reader (collection_id, reader, is_group, role_oid)
    SELECT found_id, substr(k.key, 7)::name, true, NULL
    FROM unnest(readers) AS k (key) WHERE starts_with(k.key, 'group:')
    UNION ALL
    SELECT found_id, r.rolname, false, r.oid
    FROM unnest(readers) AS k (key)
    INNER JOIN pg_catalog.pg_roles AS r ON 'role:' || r.oid = k.key;
    INSERT INTO pgblend_data.collection_grant (
        collection_id, role_name, privilege, granted_by, granted_at, role_oid, made_in)
    SELECT found_id, g.role_name, g.privilege, g.granted_by, g.granted_at, g.role_oid, g.made_in
    FROM pgblend_data.collection_grant AS g
    WHERE g.collection_id = parent AND g.privilege = 'write';
    RETURN found_id;
END;
$function$;

-- _lock_compartments: until the transaction ends, nobody else changes which compartment of a
-- collection a document is in; 42501 unless whoever asks may write to it.
-- With `moves` the caller may change it, and nobody else stores documents there meanwhile. It comes
-- before all locks of rows, so that sessions never wait in a circle. Who grants the collection
-- waits too, and is waited for (_grant_follow). Before there is a compartment, those who store do
-- not call this: then whoever makes the first waits for their documents' references.
CREATE OR REPLACE FUNCTION pgblend._lock_compartments(parent bigint, moves boolean)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF pgblend._acts_as_owner() THEN
        PERFORM pgblend._hold_compartments(parent, moves);
    ELSE
        PERFORM pgblend._lock_as_writer(parent, moves);
    END IF;
END;
$function$;

-- _lock_as_writer: _hold_compartments for whoever may write to the collection, else 42501.
-- Runs with its owner's rights: writers change no collections.
CREATE OR REPLACE FUNCTION pgblend._lock_as_writer(parent bigint, moves boolean)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    PERFORM pgblend._check_may_place(parent);
    PERFORM pgblend._hold_compartments(parent, moves);
END;
$function$;

-- _check_may_place: raise unless whoever asks may write to a collection.
CREATE OR REPLACE FUNCTION pgblend._check_may_place(parent bigint)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    who name := pgblend._asking_role();
BEGIN
    IF NOT pg_has_role(who, 'pgblend_admin', 'USAGE') AND NOT EXISTS (
        SELECT FROM pgblend_data.collection_grant AS g
        INNER JOIN pg_catalog.pg_roles AS r ON g.role_name = r.rolname
        WHERE g.collection_id = parent AND g.privilege = 'write'
            AND pg_has_role(who, r.oid, 'USAGE')
            AND (r.oid = g.role_oid
                OR g.made_in <> (SELECT s.system_identifier FROM pg_control_system() AS s)))
    THEN
        RAISE EXCEPTION '% may not write to collection %', who, coalesce(parent::text, 'NULL')
            USING ERRCODE = '42501',
            HINT = 'An admin grants it: grant_collection(collection, role, ''write'')';
    END IF;
END;
$function$;

-- _acts_as_owner: whether the rights in force are those of the owner: for triggers on attached
-- tables, whose writers need have no rights here.
CREATE OR REPLACE FUNCTION pgblend._acts_as_owner()
RETURNS boolean
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
RETURN has_function_privilege('pgblend._hold_compartments(bigint, boolean)', 'EXECUTE');

-- _hold_compartments: take the lock that _lock_compartments promises. For the owner alone.
CREATE OR REPLACE FUNCTION pgblend._hold_compartments(parent bigint, moves boolean)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF moves AND NOT EXISTS (
        SELECT FROM pgblend_data.collection AS c WHERE c.parent_id = parent)
    THEN
        PERFORM FROM pgblend_data.collection AS c WHERE c.id = parent FOR UPDATE;
    ELSIF moves THEN
        PERFORM FROM pgblend_data.collection AS c WHERE c.id = parent FOR NO KEY UPDATE;
    ELSE
        PERFORM FROM pgblend_data.collection AS c WHERE c.id = parent FOR SHARE;
    END IF;
END;
$function$;

-- _grant_follow: trigger that gives who may write to a collection the same on its compartments.
-- Runs with its owner's rights: whoever grants a collection sees its compartments, but grants none.
CREATE OR REPLACE FUNCTION pgblend._grant_follow()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.privilege = 'write' THEN
        DELETE FROM pgblend_data.collection_grant AS g
        USING pgblend_data.collection AS c
        WHERE c.parent_id = OLD.collection_id AND g.collection_id = c.id
            AND g.role_name = OLD.role_name AND g.privilege = 'write';
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.privilege = 'write' THEN
        PERFORM FROM pgblend_data.collection AS c
        WHERE c.id = NEW.collection_id AND c.parent_id IS NULL
        FOR NO KEY UPDATE;
        INSERT INTO pgblend_data.collection_grant (
            collection_id, role_name, privilege, granted_by, granted_at, role_oid, made_in)
        SELECT
            c.id, NEW.role_name, NEW.privilege, NEW.granted_by, NEW.granted_at, NEW.role_oid,
            NEW.made_in
        FROM pgblend_data.collection AS c
        WHERE c.parent_id = NEW.collection_id;
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER collection_grant_10_follow AFTER INSERT OR UPDATE OR DELETE
ON pgblend_data.collection_grant
FOR EACH ROW EXECUTE FUNCTION pgblend._grant_follow();

-- _document_refuse_twin: trigger that refuses a document whose key another compartment of its
-- collection has: one with readers would else be there for all.
-- Runs with its owner's rights: a twin that the writer does not see counts too.
CREATE OR REPLACE FUNCTION pgblend._document_refuse_twin()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    twin text;
BEGIN
    IF NOT EXISTS (
        SELECT FROM pgblend_data.collection AS c WHERE c.parent_id IS NOT NULL)
    THEN
        RETURN NULL;
    END IF;
    SELECT n.source_key INTO twin
    FROM new_document AS n
    CROSS JOIN LATERAL (
        SELECT coalesce(c.parent_id, c.id) AS id FROM pgblend_data.collection AS c
        WHERE c.id = n.collection_id OFFSET 0) AS p
    CROSS JOIN LATERAL pgblend._documents_under(p.id, n.source_key) AS d
    WHERE d.collection_id <> n.collection_id
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'document "%" is in the collection already, with other readers',
            left(twin, 200)
            USING ERRCODE = '23505',
            HINT = 'Store it again by ingest_document, which keeps its readers; or delete it first.';
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER document_60_refuse_twin AFTER INSERT ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_refuse_twin();

-- _documents_under: the documents of a collection and its compartments that have a key.
-- The key is looked for first: there may be many compartments.
CREATE OR REPLACE FUNCTION pgblend._documents_under(parent bigint, source_key text)
RETURNS TABLE (id bigint, collection_id bigint)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 1
AS $function$
BEGIN
    RETURN QUERY
    SELECT d.id, d.collection_id FROM pgblend_data.document AS d
    WHERE d.source_key = _documents_under.source_key AND (
        SELECT parent IN (c.id, c.parent_id) FROM pgblend_data.collection AS c
        WHERE c.id = d.collection_id);
END;
$function$;
