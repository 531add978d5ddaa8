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
