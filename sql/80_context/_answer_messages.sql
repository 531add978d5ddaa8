-- _answer_messages: the messages that ask a chat model to answer from passages, as a JSON array.
-- `parts` are those of _ask_passages.
CREATE OR REPLACE FUNCTION pgblend._answer_messages(query text, parts jsonb)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.context.prompt import answer_messages

return json.dumps(answer_messages(query, json.loads(parts)))
$python$;
