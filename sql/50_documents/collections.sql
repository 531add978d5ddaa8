-- add_collection: make a collection and return its id.
-- Only admins see it until it is granted (grant_collection). Its name is kept composed (Unicode's
-- form NFC), and found as it is typed. A name in use, an unknown text search
-- configuration and wrong settings are errors. Settings are those of scope collection and search in
-- blend.setting_catalog(). On a coordinator, `shards` are the names of those that have its
-- documents, for good (docs/shards.md); NULL: all.
CREATE OR REPLACE FUNCTION blend.add_collection(
    name text,
    text_search_config text DEFAULT 'english',
    settings jsonb DEFAULT '{}',
    shards text[] DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    new_id bigint;
BEGIN
    IF coalesce(name, '') = '' OR btrim(name, E' \t\r\n') <> name OR length(name) > 200 THEN
        RAISE EXCEPTION
            'collection name is %: expected 1 to 200 characters without spaces around them',
            coalesce(quote_literal(left(name, 300)), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: handbook';
    END IF;
    PERFORM pgblend._check_text_search_config(text_search_config);
    settings := coalesce(settings, '{}');
    PERFORM pgblend._check_settings(
        settings, ARRAY['search', 'collection'], 'collection settings');
    PERFORM pgblend._check_chunk_sizes(pgblend._collection_settings(settings));
    name := normalize(name);
    INSERT INTO pgblend_data.collection (name, text_search_config, settings, buckets)
    VALUES (
        name, text_search_config, settings,
        CASE WHEN shards IS NOT NULL THEN pgblend._buckets_of_shards(shards) END)
    ON CONFLICT ON CONSTRAINT collection_name_key DO NOTHING
    RETURNING id INTO new_id;
    IF new_id IS NULL THEN
        RAISE EXCEPTION 'there is a collection "%" already', name
            USING ERRCODE = '42710',
            HINT = 'Give another name. Its shards cannot be changed: make another and ingest again.';
    END IF;
    RETURN new_id;
END;
$function$;

-- remove_collection: delete a collection with all its documents; false where there is none.
-- A collection that follows a table is an error.
CREATE OR REPLACE FUNCTION blend.remove_collection(name text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target bigint := (
        SELECT c.id FROM pgblend_data.collection AS c
        WHERE c.name = normalize(remove_collection.name) AND c.parent_id IS NULL);
    followed text := (
        SELECT a.table_name FROM pgblend_data.attached_table AS a WHERE a.collection_id = target);
BEGIN
    IF followed IS NOT NULL THEN
        RAISE EXCEPTION 'collection "%" follows the table %', remove_collection.name, followed
            USING ERRCODE = '55000', HINT = 'Detach it: SELECT detach_table(…)';
    END IF;
    PERFORM pgblend._empty_collection(c.id) FROM unnest(pgblend._compartments(target)) AS c (id);
    DELETE FROM pgblend_data.collection AS c WHERE c.parent_id = target;
    DELETE FROM pgblend_data.collection AS c WHERE c.id = target;
    RETURN FOUND;
END;
$function$;

-- set_collection_settings: change settings of a collection, all or none; the others stay.
-- A JSON null resets a setting. Searches of the collection alone follow at once; chunk sizes hold
-- for what is ingested from now on. An unknown collection, unknown settings and wrong values are
-- errors. NULL and {} change nothing. For members of pgblend_admin.
CREATE OR REPLACE FUNCTION blend.set_collection_settings(collection text, settings jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    collection_id bigint := (pgblend._named_collection(set_collection_settings.collection)).id;
    in_force jsonb;
BEGIN
    PERFORM pgblend._check_settings(
        set_collection_settings.settings, ARRAY['search', 'collection'], 'collection settings');
    UPDATE pgblend_data.collection AS c
    SET settings = (
        SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}')
        FROM jsonb_each(c.settings || set_collection_settings.settings) AS e
        WHERE e.value <> 'null')
    WHERE c.id = ANY(pgblend._compartments(collection_id))
        AND set_collection_settings.settings <> '{}';
    SELECT c.settings INTO in_force FROM pgblend_data.collection AS c
    WHERE c.id = collection_id AND set_collection_settings.settings <> '{}';
    IF FOUND THEN
        PERFORM pgblend._check_chunk_sizes(pgblend._collection_settings(in_force));
    END IF;
END;
$function$;

-- grant_collection: let a role (and its members) read or write a collection; write includes read.
-- An unknown collection, role or privilege is an error; granting again changes nothing, but where
-- the role of before was dropped or renamed. The role also needs membership in pgblend_reader or
-- pgblend_writer.
CREATE OR REPLACE FUNCTION blend.grant_collection(
    collection text,
    role_name name,
    privilege text DEFAULT 'read'
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM pgblend._check_grant(grant_collection.role_name, grant_collection.privilege);
    INSERT INTO pgblend_data.collection_grant AS g (collection_id, role_name, role_oid, privilege)
    SELECT
        (pgblend._named_collection(grant_collection.collection)).id, r.rolname, r.oid,
        grant_collection.privilege
    FROM pg_catalog.pg_roles AS r
    WHERE r.rolname = grant_collection.role_name
    ON CONFLICT ON CONSTRAINT collection_grant_pkey DO UPDATE
    SET role_oid = excluded.role_oid, made_in = excluded.made_in,
        granted_by = excluded.granted_by, granted_at = excluded.granted_at
    WHERE (g.role_oid, g.made_in) IS DISTINCT FROM (excluded.role_oid, excluded.made_in);
END;
$function$;

-- revoke_collection: take a grant on a collection back; returns whether there was one.
-- Revoking read takes write as well. An unknown collection, role or privilege is an error.
CREATE OR REPLACE FUNCTION blend.revoke_collection(
    collection text,
    role_name name,
    privilege text DEFAULT 'read'
)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    DELETE FROM pgblend_data.collection_grant AS g
    WHERE g.collection_id = (pgblend._named_collection(revoke_collection.collection)).id
        AND g.role_name = revoke_collection.role_name
        AND g.privilege = ANY(CASE revoke_collection.privilege
            WHEN 'read' THEN '{read,write}'::text[] WHEN 'write' THEN '{write}' END);
    IF FOUND THEN
        RETURN true;
    END IF;
    PERFORM pgblend._check_grant(revoke_collection.role_name, revoke_collection.privilege);
    RETURN false;
END;
$function$;

-- _check_grant: raise unless the privilege is read or write, and there is a role of that name.
-- NULLs are neither.
CREATE OR REPLACE FUNCTION pgblend._check_grant(role_name name, privilege text)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    IF privilege IS NULL OR privilege NOT IN ('read', 'write') THEN
        RAISE EXCEPTION 'privilege is %: expected read or write',
            coalesce(quote_literal(left(privilege, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'write includes read.';
    ELSIF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = role_name) THEN
        RAISE EXCEPTION 'there is no role %', coalesce(quote_ident(role_name), 'NULL')
            USING ERRCODE = '42704', HINT = 'SELECT rolname FROM pg_roles';
    END IF;
END;
$function$;

-- _buckets_of_shards: the buckets that some shards of this coordinator have now.
-- A name that no shard has, none at all, and a database without shards are errors.
CREATE OR REPLACE FUNCTION pgblend._buckets_of_shards(names text[])
RETURNS int4multirange
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    found record;
    unknown text;
BEGIN
    SELECT
        range_agg(int4range(b.bucket, b.bucket + 1)) FILTER (WHERE s.name = ANY(names)) AS buckets,
        array_agg(DISTINCT s.name) AS known
    INTO found
    FROM pgblend_data.shard AS s
    INNER JOIN pgblend_data.shard_bucket AS b ON b.shard = s.number;
    IF found.known IS NULL THEN
        RAISE EXCEPTION 'this database has no shards to place a collection on'
            USING ERRCODE = '55000', HINT = 'pgblend shards add NAME=URL … makes it their coordinator.';
    END IF;
    SELECT coalesce(n, 'NULL') INTO unknown
    FROM unnest(names) AS n
    WHERE n = ANY(found.known) IS NOT TRUE;
    IF unknown IS NOT NULL OR found.buckets IS NULL THEN
        RAISE EXCEPTION 'shards is %: expected names of shards', names
            USING ERRCODE = '22023', HINT = 'There are: ' || array_to_string(found.known, ', ');
    END IF;
    RETURN found.buckets;
END;
$function$;

-- _empty_collection: delete all documents of a collection, and its lexical index.
CREATE OR REPLACE FUNCTION pgblend._empty_collection(target bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    -- No seal meets a half removed index.
    PERFORM FROM pgblend_data.index_claim AS k WHERE k.collection_id = target FOR UPDATE;
    DELETE FROM pgblend_data.document AS d WHERE d.collection_id = target;
    DELETE FROM pgblend_data.posting AS p
    USING pgblend_data.segment AS s
    WHERE s.id = p.segment_id AND s.collection_id = target;
    DELETE FROM pgblend_data.segment AS s WHERE s.collection_id = target;
    DELETE FROM pgblend_data.tombstone AS t WHERE t.collection_id = target;
    DELETE FROM pgblend_data.vocabulary AS v WHERE v.collection_id = target;
END;
$function$;

-- _note_collection_change: trigger that notes the transaction, so that no session uses what it kept
-- of who may read what. With an argument it changed a table of the lexical index alone.
-- One in a thousand leaves no note but its own: what was kept before is gone with it.
-- Runs with its owner's rights: a note that anybody could delete would hide a change.
CREATE OR REPLACE FUNCTION pgblend._note_collection_change()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    clears boolean := pg_current_xact_id()::text::bigint % 1000 = 0;
BEGIN
    INSERT INTO pgblend_data.collection_change (transaction_id, index_table)
    SELECT pg_current_xact_id(), CASE WHEN TG_NARGS > 0 AND NOT clears THEN TG_TABLE_NAME END
    WHERE NOT EXISTS (
        SELECT FROM pgblend_data.collection_change AS n
        WHERE n.transaction_id = pg_current_xact_id()
            AND (n.index_table IS NULL OR n.index_table = TG_TABLE_NAME));
    IF clears THEN
        DELETE FROM pgblend_data.collection_change AS n
        WHERE n.ctid IN (
            SELECT o.ctid FROM pgblend_data.collection_change AS o
            WHERE o.transaction_id <> pg_current_xact_id()
            FOR UPDATE SKIP LOCKED);
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER collection_90_note_change
AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON pgblend_data.collection
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._note_collection_change();
CREATE OR REPLACE TRIGGER collection_grant_90_note_change
AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON pgblend_data.collection_grant
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._note_collection_change();
-- By row: each document that is stored tries to add its language.
CREATE OR REPLACE TRIGGER collection_language_90_note_change
AFTER INSERT OR UPDATE OR DELETE ON pgblend_data.collection_language
FOR EACH ROW EXECUTE FUNCTION pgblend._note_collection_change();
CREATE OR REPLACE TRIGGER collection_language_90_note_truncate
AFTER TRUNCATE ON pgblend_data.collection_language
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._note_collection_change();
CREATE OR REPLACE TRIGGER document_reader_90_note_change
AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON pgblend_data.document_reader
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._note_collection_change();

CREATE OR REPLACE TRIGGER pending_90_note_change
AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON pgblend_data.pending
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._note_collection_change('index');
CREATE OR REPLACE TRIGGER segment_90_note_change
AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON pgblend_data.segment
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._note_collection_change('index');
CREATE OR REPLACE TRIGGER tombstone_90_note_change
AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON pgblend_data.tombstone
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._note_collection_change('index');
