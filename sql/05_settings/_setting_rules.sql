-- _setting_rules: what a value of each setting must be, by name.
-- Being immutable, it is a constant to what calls it: a search looks its options up in it, where
-- the catalogue's rows would be made each time. allowed_values is an array as text.
CREATE OR REPLACE FUNCTION pgblend._setting_rules()
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT jsonb_object_agg(c.name, jsonb_build_object(
        'scope', c.scope, 'value_type', c.value_type, 'minimum', c.minimum, 'maximum', c.maximum,
        'allowed_values', c.allowed_values::text))
    FROM blend.setting_catalog() AS c;
END;
