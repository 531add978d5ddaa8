-- settings: every setting with the value in force for the whole database.
CREATE OR REPLACE VIEW blend.settings WITH (security_invoker = true) AS
SELECT
    c.name,
    pgblend._setting_in_force(c.default_value, s.value) AS value,
    c.default_value,
    coalesce(s.source, 'default') AS source,
    c.value_type,
    c.scope,
    c.description,
    s.changed_by,
    s.changed_at
FROM blend.setting_catalog() AS c
LEFT JOIN pgblend._setting_values AS s ON c.name = s.name;

COMMENT ON COLUMN blend.settings.name IS 'Name.';
COMMENT ON COLUMN blend.settings.value IS 'Value in force; JSON null where none is set.';
COMMENT ON COLUMN blend.settings.default_value IS 'Value where none is set.';
COMMENT ON COLUMN blend.settings.source IS
'database where it was set, server where its configuration pins it, else default.';
COMMENT ON COLUMN blend.settings.value_type IS 'Type of the value.';
COMMENT ON COLUMN blend.settings.scope IS
'Where it may be given: search (call, collection, profile, database), collection, server.';
COMMENT ON COLUMN blend.settings.description IS 'What it does.';
COMMENT ON COLUMN blend.settings.changed_by IS 'Who set it.';
COMMENT ON COLUMN blend.settings.changed_at IS 'When it was set.';
