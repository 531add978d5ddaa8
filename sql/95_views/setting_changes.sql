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
