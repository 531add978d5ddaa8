-- profiles: the named ranking recipes.
CREATE OR REPLACE VIEW blend.profiles WITH (security_invoker = true) AS
SELECT
    p.name,
    p.description,
    p.settings,
    p.built_in,
    p.changed_by,
    p.changed_at
FROM pgblend_data.profile AS p;

COMMENT ON COLUMN blend.profiles.name IS 'Name.';
COMMENT ON COLUMN blend.profiles.description IS 'What it does.';
COMMENT ON COLUMN blend.profiles.settings IS 'Its search settings.';
COMMENT ON COLUMN blend.profiles.built_in IS 'Whether it comes with pgblend and stays as it is.';
COMMENT ON COLUMN blend.profiles.changed_by IS 'Who made or last changed it.';
COMMENT ON COLUMN blend.profiles.changed_at IS 'When it was made or last changed.';
