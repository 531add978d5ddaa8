-- _schema_error: what is wrong with a nested value, NULL where nothing is (see _setting_schema).
-- A NULL schema knows nothing wrong.
CREATE OR REPLACE FUNCTION pgblend._schema_error(value jsonb, schema jsonb)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.settings.schema import schema_error

try:
    return schema_error(json.loads(value), json.loads(schema), "")
except RecursionError:
    return "is nested too deeply: expected a few levels"
$python$;
