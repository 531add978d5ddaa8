-- reset_setting: put the default of a setting back.
-- An unknown name is an error; a setting that is at its default stays there.
CREATE OR REPLACE FUNCTION pgblend.reset_setting(name text)
RETURNS void
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT pgblend.set_setting(reset_setting.name, NULL);
END;

COMMENT ON FUNCTION pgblend.reset_setting(text) IS 'Put the default of a setting back.';
