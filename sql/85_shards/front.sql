-- _apply_front: make collections, grants, settings, profiles and spaces of a shard what they are on
-- its coordinator.
-- `front` is what _front gives there. A collection or space that the coordinator no longer has goes
-- with all that is in it. An older front than the shard has is an error, since a coordinator that
-- was restored would take away what came after. Only an admin's command and the worker call it.
CREATE OR REPLACE FUNCTION pgblend._apply_front(number integer, version bigint, front jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET "pgblend.gives_front" = on
AS $function$
DECLARE
    space pgblend_data.embedding_space;
    known bigint := (SELECT s.front_version FROM pgblend_data.shard_self AS s);
BEGIN
    IF known > version THEN
        RAISE EXCEPTION 'this shard has version % of collections, grants and settings, not %',
            known, version
            USING ERRCODE = '55000',
            HINT = 'A coordinator that was restored from a backup lacks changes: make them again.';
    END IF;
    INSERT INTO pgblend_data.setting (name, value)
    SELECT s.name, s.value
    FROM jsonb_populate_recordset(NULL::pgblend_data.setting, front -> 'setting') AS s
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
    WHERE setting.value <> excluded.value;
    DELETE FROM pgblend_data.setting AS s
    WHERE s.name NOT IN (SELECT f ->> 'name' FROM jsonb_array_elements(front -> 'setting') AS f);
    INSERT INTO pgblend_data.profile (name, description, settings, built_in)
    SELECT p.name, p.description, p.settings, p.built_in
    FROM jsonb_populate_recordset(NULL::pgblend_data.profile, front -> 'profile') AS p
    ON CONFLICT (name) DO UPDATE SET description = excluded.description, settings = excluded.settings
    WHERE (profile.description, profile.settings) <> (excluded.description, excluded.settings);
    DELETE FROM pgblend_data.profile AS p
    WHERE p.name NOT IN (SELECT f ->> 'name' FROM jsonb_array_elements(front -> 'profile') AS f);
    PERFORM blend.remove_collection(c.name)
    FROM pgblend_data.collection AS c
    WHERE c.id NOT IN (
        SELECT (f ->> 'id')::bigint FROM jsonb_array_elements(front -> 'collection') AS f);
    INSERT INTO pgblend_data.collection (
        id, name, text_search_config, settings, created_at, buckets)
    OVERRIDING SYSTEM VALUE
    SELECT c.id, c.name, c.text_search_config, c.settings, c.created_at, c.buckets
    FROM jsonb_populate_recordset(NULL::pgblend_data.collection, front -> 'collection') AS c
    ON CONFLICT (id) DO UPDATE SET
        name = excluded.name, text_search_config = excluded.text_search_config,
        settings = excluded.settings, buckets = excluded.buckets;
    DELETE FROM pgblend_data.collection_grant;
    INSERT INTO pgblend_data.collection_grant
    SELECT g.*
    FROM jsonb_populate_recordset(
        NULL::pgblend_data.collection_grant, front -> 'collection_grant') AS g;
    FOR space IN
        SELECT e.* FROM pgblend_data.embedding_space AS e
        WHERE e.name NOT IN (
            SELECT f ->> 'name' FROM jsonb_array_elements(front -> 'embedding_space') AS f)
    LOOP
        PERFORM blend.drop_embedding_space(space.name, true);
    END LOOP;
    FOR space IN
        SELECT e.*
        FROM jsonb_populate_recordset(
            NULL::pgblend_data.embedding_space, front -> 'embedding_space') AS e
        ORDER BY e.active
    LOOP
        IF NOT EXISTS (SELECT FROM pgblend_data.embedding_space AS e WHERE e.name = space.name) THEN
            PERFORM blend.create_embedding_space(
                space.name, space.model, space.dimensions, space.storage, space.active, false,
                space.brings_vectors);
        END IF;
        PERFORM pgblend._set_space(space);
    END LOOP;
    PERFORM pgblend._note_front(number, version);
END;
$function$;

-- _set_space: make what changes of an embedding space of this shard what it is on the coordinator.
-- Runs with its owner's rights, since nobody else writes the registry; only admins may call it.
CREATE OR REPLACE FUNCTION pgblend._set_space(given pgblend_data.embedding_space)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    UPDATE pgblend_data.embedding_space AS e SET active = false
    WHERE e.active AND given.active AND e.name <> given.name;
    UPDATE pgblend_data.embedding_space AS e
    SET active = given.active, ef_search = given.ef_search, recall = given.recall,
        tuned_at = given.tuned_at, probe = given.probe, probed_at = given.probed_at,
        asked_dimensions = given.asked_dimensions, asks_model = given.asks_model
    WHERE e.name = given.name;
END;
$function$;

-- _note_front: note of which version the front of this shard is; an error where it is another's.
-- Runs with its owner's rights, since nobody else writes which shard this is; only admins may call
-- it.
CREATE OR REPLACE FUNCTION pgblend._note_front(number integer, version bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    UPDATE pgblend_data.shard_self AS s SET front_version = version
    WHERE s.number = _note_front.number;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this database is not shard %', number
            USING ERRCODE = '55000', HINT = 'A superuser makes it one: pgblend shards init.';
    END IF;
END;
$function$;

-- _front: what shards have a copy of, as {table: rows}.
-- A grant whose role is gone is not among them: on a shard its name may be another's.
CREATE OR REPLACE FUNCTION pgblend._front()
RETURNS jsonb
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'setting', (SELECT coalesce(jsonb_agg(to_jsonb(s)), '[]') FROM pgblend_data.setting AS s),
    'profile', (SELECT coalesce(jsonb_agg(to_jsonb(p)), '[]') FROM pgblend_data.profile AS p),
    'collection', (SELECT coalesce(jsonb_agg(to_jsonb(c)), '[]') FROM pgblend_data.collection AS c),
    'collection_grant', (
        SELECT coalesce(jsonb_agg(to_jsonb(g)), '[]')
        FROM pgblend_data.collection_grant AS g
        WHERE
            g.made_in <> (SELECT s.system_identifier FROM pg_control_system() AS s)
            OR EXISTS (
                SELECT FROM pg_catalog.pg_roles AS r
                WHERE r.rolname = g.role_name AND r.oid = g.role_oid
            )
    ),
    'embedding_space', (
        SELECT coalesce(jsonb_agg(to_jsonb(e)), '[]') FROM pgblend_data.embedding_space AS e)
);

-- _check_front: raise where this shard has an older version of the coordinator's front than that.
CREATE OR REPLACE FUNCTION pgblend._check_front(version bigint)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    known pgblend_data.shard_self;
BEGIN
    SELECT s.* INTO known FROM pgblend_data.shard_self AS s;
    IF coalesce(known.front_version < version, true) THEN
        RAISE EXCEPTION 'shard % lacks the last changes of settings, grants or collections',
            coalesce(known.number::text, 'this database')
            USING ERRCODE = '55000',
            HINT = 'An admin of the coordinator runs: pgblend shards push';
    END IF;
END;
$function$;
