-- _approximate_tokens: about how many cl100k_base tokens a text has; the server has no tokenizer.
CREATE OR REPLACE FUNCTION pgblend._approximate_tokens(content text)
RETURNS integer
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
SET search_path = pg_catalog, pg_temp
AS $python$
from pgblend.plpy.text.tokens import approximate_tokens

return approximate_tokens(content)
$python$;
