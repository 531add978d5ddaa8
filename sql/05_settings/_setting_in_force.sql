-- _setting_in_force: a default with the value that was set over it.
-- Objects are merged key by key, so that keys that were not set keep their defaults; one with a key
-- "kind" is a whole and is replaced. A number stands for each key. A NULL value was not set.
CREATE OR REPLACE FUNCTION pgblend._setting_in_force(default_value jsonb, value jsonb)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN jsonb_typeof(default_value) = 'object' AND NOT default_value ? 'kind'
        THEN default_value || CASE jsonb_typeof(value)
            WHEN 'number' THEN (
                SELECT jsonb_object_agg(k.name, value)
                FROM jsonb_object_keys(default_value) AS k (name)
            )
            ELSE coalesce(value, '{}') END
    ELSE coalesce(value, default_value)
END;
