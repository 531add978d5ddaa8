-- setting_changes: who changed which setting when; a NULL value means the default.
CREATE OR REPLACE VIEW pgblend.setting_changes WITH (security_invoker = true) AS
SELECT
    h.name,
    h.old_value,
    h.new_value,
    h.changed_by,
    h.changed_at
FROM pgblend_data.setting_history AS h
ORDER BY h.id;

COMMENT ON VIEW pgblend.setting_changes IS
'Who changed which setting when; a NULL value means the default.';
COMMENT ON COLUMN pgblend.setting_changes.name IS 'Setting.';
COMMENT ON COLUMN pgblend.setting_changes.old_value IS 'Value before.';
COMMENT ON COLUMN pgblend.setting_changes.new_value IS 'Value after.';
COMMENT ON COLUMN pgblend.setting_changes.changed_by IS 'Who changed it.';
COMMENT ON COLUMN pgblend.setting_changes.changed_at IS 'When.';
