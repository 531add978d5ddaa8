-- _setting_in_force: a default with the value that was set over it.
-- Of an object the keys that were not set keep their defaults. A NULL value was not set.
CREATE OR REPLACE FUNCTION pgblend._setting_in_force(
    value_type text,
    default_value jsonb,
    value jsonb
)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN value_type = 'object' THEN default_value || coalesce(value, '{}')
    ELSE coalesce(value, default_value)
END;

COMMENT ON FUNCTION pgblend._setting_in_force(text, jsonb, jsonb) IS
'A default with the value that was set over it; of an object, keys that were not set keep theirs.';
