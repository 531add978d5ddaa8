-- _post_to_gateway: POST a JSON text to the gateway; {"answer": …} or {"problem": text, "hint":
-- text}.
-- `request` has url, path, body (a text), timeout_ms, places (the setting model_calls),
-- data_directory, role and database (its number). The token comes from the server's environment
-- (PGBLEND_GATEWAY_TOKEN) or from the file pgblend_gateway_token in that directory (mode 0600).
-- Ends within timeout_ms, and within 20 ms of a cancel, statement_timeout or terminate. Problems
-- are returned, since an error raised here would be prefixed with "plpy.Error". So is that the
-- session leaves a gateway alone for a while: one that was late three times in a row. The request
-- of a search's stage, which notes so where SQL cannot, is only sent. Its call stands in GD under
-- the uuid that comes back as "call".
CREATE OR REPLACE FUNCTION pgblend._post_to_gateway(request jsonb)
RETURNS jsonb
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
STRICT
COST 100000
AS $python$
import json
from uuid import uuid4
from pgblend.plpy.models.gateway import GatewayCall
from pgblend.plpy.models.stages import BEGUN

asked = json.loads(request)
if asked["url"] is None:
    return json.dumps({
        "problem": "no model gateway is set",
        "hint": "Start one (pgblend gateway) and name it: pgblend config set gateway_url URL"})
call = GatewayCall(db, asked)
if db.kept(BEGUN).pop(BEGUN, False):
    key = str(uuid4())
    db.kept("calls")[key] = call
    return json.dumps({"call": key})
return json.dumps(call.answer())
$python$;
