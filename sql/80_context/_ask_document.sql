-- _ask_document: the answer to a question as one JSON document.
-- `passages` is what _ask_passages gives, `reply` what the model said (model, text, finish_reason);
-- NULL where none was asked. Every sentence of the answer is held to the passages.
CREATE OR REPLACE FUNCTION pgblend._ask_document(passages jsonb, reply jsonb)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.context.answer import ask_document

return json.dumps(ask_document(json.loads(passages), reply and json.loads(reply)))
$python$;
