-- _mask_secrets: a message of a gateway or a model, with *** for what looks like a key.
-- What follows the first 20,000 characters is cut off. NULL for NULL.
CREATE OR REPLACE FUNCTION pgblend._mask_secrets(message text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.models.answer import mask_secrets

return mask_secrets(message)
$python$;
