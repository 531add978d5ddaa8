-- settings: every setting with the value in force for the whole database.
CREATE OR REPLACE VIEW blend.settings WITH (security_invoker = true) AS
SELECT
    c.name,  -- Name.
    -- Value in force; JSON null where none is set.
    coalesce(blend.get_setting(c.name), 'null') AS value,
    c.default_value,  -- Value where none is set.
    -- database where it was set, server where its configuration pins it, else default.
    coalesce(s.source, 'default') AS source,
    c.value_type,  -- Type of the value.
    -- Where it may be given: search (call, collection, profile, database), collection, server.
    c.scope,
    c.description,  -- What it does.
    s.changed_by,  -- Who set it.
    s.changed_at  -- When it was set.
FROM blend.setting_catalog() AS c
LEFT JOIN pgblend._setting_values AS s ON c.name = s.name;
