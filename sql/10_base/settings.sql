-- get_setting: the value in force for the whole database, the default where none was set.
-- NULL where it has no default either. An unknown name is an error. Of an object, keys that were
-- not set have their defaults; one with a key "kind" is a whole. A number stands for each key (as
-- in plpy/base/settings.py). Definer-rights functions call it: nothing that others can write to
-- is on its search_path.
CREATE OR REPLACE FUNCTION blend.get_setting(name text)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    known record;
BEGIN
    SELECT c.default_value, nullif(s.value, 'null') AS value INTO known
    FROM pgblend._setting_catalog() AS c
    LEFT JOIN pgblend._setting_values AS s ON s.name = c.name
    WHERE c.name = get_setting.name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no setting "%"', left(name, 200)
            USING ERRCODE = '22023', HINT = coalesce(
                pgblend._nearest_names(name, ARRAY(
                    SELECT c.name FROM pgblend._setting_catalog() AS c ORDER BY c.name)),
                'SELECT name FROM blend.setting_catalog()');
    END IF;
    IF jsonb_typeof(known.default_value) <> 'object' OR known.default_value ? 'kind' THEN
        RETURN nullif(coalesce(known.value, known.default_value), 'null');
    ELSIF jsonb_typeof(known.value) = 'number' THEN
        RETURN (
            SELECT jsonb_object_agg(k, known.value)
            FROM jsonb_object_keys(known.default_value) AS k);
    END IF;
    RETURN known.default_value || coalesce(known.value, '{}');
END;
$function$;

-- reset_setting: put the default of a setting back.
-- An unknown name is an error; a setting that is at its default stays there.
CREATE OR REPLACE FUNCTION blend.reset_setting(name text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM blend.set_setting(name, NULL);
END;
$function$;

-- set_setting: set a value for the whole database; it holds from the next search on.
-- A SQL NULL or JSON null puts the default back. Unknown names and wrong values are errors. Members
-- of pgblend_admin may.
CREATE OR REPLACE FUNCTION blend.set_setting(name text, value jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF name IS NULL THEN
        RAISE EXCEPTION 'the setting''s name is NULL'
            USING ERRCODE = '22004', HINT = 'SELECT name FROM blend.settings';
    END IF;
    PERFORM blend.set_settings(jsonb_build_object(name, coalesce(value, 'null')));
END;
$function$;

-- set_settings: set several values for the whole database, all or none of them; they hold from the
-- next search on.
-- A JSON null puts the default back. Unknown names, wrong values and chunk sizes that do not fit
-- together are errors, and names that the server's configuration pins (_setting_values). NULL and
-- {} change nothing. Members of pgblend_admin may.
CREATE OR REPLACE FUNCTION blend.set_settings(settings jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    pinned text := (
        SELECT min(v.name) FROM pgblend._setting_values AS v
        WHERE v.source = 'server' AND settings ? v.name);
BEGIN
    IF pinned IS NOT NULL THEN
        RAISE EXCEPTION '% is pinned by the server''s configuration', pinned
            USING ERRCODE = '42501', HINT = format(
                'A superuser changes it: ALTER ROLE ALL SET pgblend.%1$s = ''…'', or RESET '
                'pgblend.%1$s; of one database: ALTER DATABASE.', pinned);
    END IF;
    PERFORM pgblend._check_settings(settings, ARRAY['search', 'collection', 'server'], 'settings');
    DELETE FROM pgblend_data.setting AS s
    USING jsonb_each(settings) AS e
    WHERE e.key = s.name AND e.value = 'null';
    INSERT INTO pgblend_data.setting (name, value)
    SELECT e.key, e.value FROM jsonb_each(settings) AS e
    WHERE e.value <> 'null'
    ORDER BY e.key
    ON CONFLICT ON CONSTRAINT setting_pkey DO UPDATE
    SET value = excluded.value, changed_by = DEFAULT, changed_at = DEFAULT;
    PERFORM pgblend._check_chunk_sizes(pgblend._collection_settings('{}'));
END;
$function$;

-- _check_settings: raise for the first setting that is unknown, out of scope, of a wrong type or
-- out of range.
-- NULL and {} are right. `place` names where the settings were given, for the message.
CREATE OR REPLACE FUNCTION pgblend._check_settings(settings jsonb, scopes text[], place text)
RETURNS void
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.base.settings import check_settings, read_json

db.answer(lambda db: check_settings(db, read_json(settings or "{}"), scopes, place))
$python$;

-- _collection_settings: every setting of scope collection in force for one collection.
-- plpgsql keeps its plan: making that of the catalogue anew takes longer than a small ingest.
CREATE OR REPLACE FUNCTION pgblend._collection_settings(settings jsonb)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    RETURN (
        SELECT jsonb_object_agg(c.name, coalesce(
            nullif(settings -> c.name, 'null'), s.value, c.default_value))
        FROM pgblend._setting_catalog() AS c
        LEFT JOIN pgblend_data.setting AS s ON c.name = s.name
        WHERE c.scope = 'collection');
END;
$function$;

-- setting_catalog: every setting and search option, with its type, default, range and meaning.
-- It is made of plpy/base/catalog.py, the one place where a setting is declared.
-- A 'search' setting may be given per call, collection and profile and for the whole database. A
-- 'collection' setting may be given per collection and for the database, a 'server' setting for
-- the database only. For an object, allowed_values are its keys and the range holds for each
-- value; of type numbers one value may stand for all. A switch may be a boolean. Objects are
-- merged key by key, but for those with a key "kind", which are wholes.
CREATE OR REPLACE FUNCTION blend.setting_catalog()
RETURNS TABLE (
    name text,
    scope text,
    value_type text,
    default_value jsonb,
    minimum double precision,
    maximum double precision,
    allowed_values text[],
    description text
)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 50
AS $function$
BEGIN
    RETURN QUERY SELECT c.* FROM pgblend._setting_catalog() AS c;
END;
$function$;

-- _setting_catalog: the rows of setting_catalog, for routines and views.
-- The planner puts its expression into their queries, which a routine that asks for a role is not.
CREATE OR REPLACE FUNCTION pgblend._setting_catalog()
RETURNS TABLE (
    name text,
    scope text,
    value_type text,
    default_value jsonb,
    minimum double precision,
    maximum double precision,
    allowed_values text[],
    description text
)
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
ROWS 50
BEGIN ATOMIC
    SELECT
        c.entry ->> 'name' AS name,
        c.entry ->> 'scope' AS scope,
        c.entry ->> 'value_type' AS value_type,
        c.entry -> 'default_value' AS default_value,
        (c.entry ->> 'minimum')::double precision AS minimum,
        (c.entry ->> 'maximum')::double precision AS maximum,
        nullif(ARRAY(
            SELECT v.value FROM jsonb_array_elements_text(c.entry -> 'allowed_values') AS v
        ), '{}') AS allowed_values,
        c.entry ->> 'description' AS description
    FROM jsonb_array_elements($catalog$#catalog$catalog$) AS c (entry);
END;

-- _setting_values: what is set for the whole database, with pins in the place of what was stored.
-- gateway_url and log_address, to which the server sends texts and its token, can be pinned. ALTER
-- ROLE ALL SET pgblend.gateway_url does so or, for one database, ALTER DATABASE. Only superusers,
-- and whom they let, may set a parameter that the server does not know. Both are read from the
-- catalogue: in a session anybody can set the parameter.
CREATE OR REPLACE VIEW pgblend._setting_values WITH (security_invoker = true) AS
WITH pinned AS MATERIALIZED (
    SELECT DISTINCT ON (name)
        substr(split_part(o.option, '=', 1), 9) COLLATE "default" AS name,
        to_jsonb(substr(o.option, strpos(o.option, '=') + 1)) AS value
    FROM pg_catalog.pg_db_role_setting AS c
    CROSS JOIN LATERAL unnest(c.setconfig) AS o (option)
    WHERE
        c.setrole = 0
        AND o.option ~ E'^pgblend\\.(gateway_url|log_address)='
        AND c.setdatabase IN (
            0,
            (
                SELECT d.oid FROM pg_catalog.pg_database AS d
                WHERE d.datname = current_database()
            )
        )
    ORDER BY name, c.setdatabase  -- 0: of all databases
)

SELECT
    p.name,  -- Setting.
    p.value,  -- Its value.
    'server' AS source,  -- server where it is pinned, else database.
    NULL::name AS changed_by,  -- Who set it; NULL where it is pinned.
    NULL::timestamptz AS changed_at  -- When; NULL where it is pinned.
FROM pinned AS p
UNION ALL
SELECT
    s.name,
    s.value,
    'database' AS source,
    s.changed_by,
    s.changed_at
FROM pgblend_data.setting AS s
WHERE s.name NOT IN (SELECT p.name FROM pinned AS p);

-- _search_settings: every search setting in force for a call: call > collection > profile >
-- database > default.
-- A collection's settings count when it is the only one of collection_ids. A NULL profile is
-- default_profile. 22023 for wrong options and an unknown profile.
CREATE OR REPLACE FUNCTION pgblend._search_settings(
    options jsonb,
    profile text,
    collection_ids bigint[]
)
RETURNS jsonb
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.search.plan import told_settings
from pgblend.plpy.search.plan import read_state

return db.answer(
    lambda db: told_settings(db, read_state(db, profile, None, collection_ids or []), options))
$python$;

-- _nearest_names: which two of the known names are the nearest to one that there is not, as a hint.
-- As plpy/base/setting_rules.py says it, which a parallel worker cannot load. Of the known names
-- 300 are looked at, and 100 characters of each: readers may call it, and nothing ends it.
CREATE OR REPLACE FUNCTION pgblend._nearest_names(given text, known text[])
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL SAFE
STRICT
AS $python$
from difflib import get_close_matches

names = [name[:100] for name in known[:300] if name]
nearest = " and ".join(get_close_matches(given[:100], names, n=2, cutoff=0))
return f"The nearest are {nearest}. Known are: {', '.join(names)}"
$python$;

-- _setting_error: what is wrong with a value for the setting of this name, NULL where nothing is.
-- JSON null is right everywhere: it stands for "not given".
CREATE OR REPLACE FUNCTION pgblend._setting_error(name text, value jsonb)
RETURNS text
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.base.catalog import CATALOG
from pgblend.plpy.base.settings import read_json, value_problem

return db.answer(lambda db: value_problem(db, CATALOG[name], read_json(value)))
$python$;

-- _owner_record_history: trigger that keeps every change of a profile's or collection's settings.
-- One row a changed setting; a profile's description is kept under the name "description".
CREATE OR REPLACE FUNCTION pgblend._owner_record_history()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    old_row jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) ELSE '{}' END;
    new_row jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) ELSE '{}' END;
BEGIN
    INSERT INTO pgblend_data.setting_history (scope, subject, name, old_value, new_value)
    SELECT TG_TABLE_NAME, coalesce(new_row ->> 'name', old_row ->> 'name'),
        key, o.value, n.value
    FROM jsonb_each(
        coalesce(old_row -> 'settings', '{}')
        || jsonb_strip_nulls(jsonb_build_object('description', old_row -> 'description'))) AS o
    FULL JOIN jsonb_each(
        coalesce(new_row -> 'settings', '{}')
        || jsonb_strip_nulls(jsonb_build_object('description', new_row -> 'description'))) AS n
        USING (key)
    WHERE o.value IS DISTINCT FROM n.value
        AND num_nulls(old_row ->> 'parent_id', new_row ->> 'parent_id') = 2  -- a compartment follows
    ORDER BY key;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER profile_10_record_history AFTER INSERT OR UPDATE OR DELETE
ON pgblend_data.profile
FOR EACH ROW EXECUTE FUNCTION pgblend._owner_record_history();
CREATE OR REPLACE TRIGGER collection_10_record_history
AFTER INSERT OR UPDATE OR DELETE ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._owner_record_history();

-- _setting_record_history: trigger that keeps every change of a setting.
CREATE OR REPLACE FUNCTION pgblend._setting_record_history()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.setting_history (name, old_value, new_value)
    VALUES (
        coalesce(NEW.name, OLD.name),
        CASE WHEN TG_OP <> 'INSERT' THEN OLD.value END,
        CASE WHEN TG_OP <> 'DELETE' THEN NEW.value END);
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER setting_10_record_history AFTER INSERT OR UPDATE OR DELETE
ON pgblend_data.setting
FOR EACH ROW EXECUTE FUNCTION pgblend._setting_record_history();
