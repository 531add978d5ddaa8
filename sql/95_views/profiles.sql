-- profiles: the named ranking recipes.
CREATE OR REPLACE VIEW pgblend.profiles WITH (security_invoker = true) AS
SELECT
    p.name,
    p.description,
    p.settings
FROM pgblend_data.profile AS p;

COMMENT ON VIEW pgblend.profiles IS
'The named ranking recipes that hybrid_search(profile => …) takes.';
COMMENT ON COLUMN pgblend.profiles.name IS 'Name.';
COMMENT ON COLUMN pgblend.profiles.description IS 'What it does.';
COMMENT ON COLUMN pgblend.profiles.settings IS 'Its search settings.';
