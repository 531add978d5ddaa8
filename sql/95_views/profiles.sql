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
