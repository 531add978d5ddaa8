-- setting_changes: who changed which setting when; a NULL value means that it was not set.
CREATE OR REPLACE VIEW blend.setting_changes WITH (security_invoker = true) AS
SELECT
    h.name,
    h.old_value,
    h.new_value,
    h.changed_by,
    h.changed_at,
    h.scope,
    h.subject
FROM pgblend_data.setting_history AS h
ORDER BY h.id;

COMMENT ON COLUMN blend.setting_changes.name IS
'Setting; description for the text of a profile.';
COMMENT ON COLUMN blend.setting_changes.old_value IS 'Value before.';
COMMENT ON COLUMN blend.setting_changes.new_value IS 'Value after.';
COMMENT ON COLUMN blend.setting_changes.changed_by IS 'Who changed it.';
COMMENT ON COLUMN blend.setting_changes.changed_at IS 'When.';
COMMENT ON COLUMN blend.setting_changes.scope IS 'database, collection or profile.';
COMMENT ON COLUMN blend.setting_changes.subject IS
'Name of the collection or profile; NULL for the database.';
