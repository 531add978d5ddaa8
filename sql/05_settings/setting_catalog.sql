-- setting_catalog: every setting and search option, with its type, default, range and meaning.
-- It is made of plpy/settings/catalog.py, the one place where a setting is declared.
-- Scopes: a 'search' setting may be given per call, collection and profile and for the whole
-- database; a 'collection' setting per collection and for the database; a 'server' setting for the
-- database only. For an object, allowed_values are its keys and the range holds for each value; of
-- type numbers one value may stand for all. A switch may be a boolean. Objects are merged key by
-- key, but for those with a key "kind", which are wholes.
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
        c.name,
        c.scope,
        c.value_type,
        coalesce(c.default_value, 'null') AS default_value,
        c.minimum,
        c.maximum,
        c.allowed_values,
        c.description
    FROM jsonb_to_recordset($catalog$#catalog$catalog$::jsonb) AS c (
        name text,
        scope text,
        value_type text,
        default_value jsonb,
        minimum double precision,
        maximum double precision,
        allowed_values text[],
        description text
    );
END;
