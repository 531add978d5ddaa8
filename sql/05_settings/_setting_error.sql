-- _setting_error: what is wrong with a value for the setting of this name, NULL where nothing is.
-- JSON null is right everywhere: it stands for "not given".
CREATE OR REPLACE FUNCTION pgblend._setting_error(name text, value jsonb)
RETURNS text
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.base.catalog import CATALOG
from pgblend.plpy.base.settings import read_json, value_problem

return db.answer(lambda db: value_problem(db, CATALOG[name], read_json(value)))
$python$;
