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
FROM pgblend._setting_catalog() AS c
LEFT JOIN pgblend._setting_values AS s ON c.name = s.name;

-- setting_changes: who changed which setting when; a NULL value means that it was not set.
CREATE OR REPLACE VIEW blend.setting_changes WITH (security_invoker = true) AS
SELECT
    h.name,  -- Setting; description for the text of a profile.
    h.old_value,  -- Value before.
    h.new_value,  -- Value after.
    h.changed_by,  -- Who changed it.
    h.changed_at,  -- When.
    h.scope,  -- database, collection or profile.
    h.subject  -- Name of the collection or profile; NULL for the database.
FROM pgblend_data.setting_history AS h
ORDER BY h.id;

-- profiles: the named ranking recipes.
CREATE OR REPLACE VIEW blend.profiles WITH (security_invoker = true) AS
SELECT
    p.name,  -- Name.
    p.description,  -- What it does.
    p.settings,  -- Its search settings.
    p.built_in,  -- Whether it comes with pgblend and stays as it is.
    p.changed_by,  -- Who made or last changed it.
    p.changed_at  -- When it was made or last changed.
FROM pgblend_data.profile AS p;
