-- _setting_defaults: the defaults of every setting of a scope, as one object.
-- Being immutable, it is a constant to what calls it with one.
CREATE OR REPLACE FUNCTION pgblend._setting_defaults(scope text)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT jsonb_object_agg(c.name, c.default_value)
    FROM blend.setting_catalog() AS c
    WHERE c.scope = _setting_defaults.scope;
END;
