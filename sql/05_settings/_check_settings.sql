-- _check_settings: raise for the first setting that is unknown, out of scope, of a wrong type or
-- out of range.
-- NULL and {} are right. `place` names where the settings were given, for the message.
CREATE OR REPLACE FUNCTION pgblend._check_settings(settings jsonb, scopes text[], place text)
RETURNS void
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.base.settings import check_settings, read_json

db.answer(lambda db: check_settings(db, read_json(settings or "{}"), scopes, place))
$python$;
