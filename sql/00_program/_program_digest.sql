-- _program_digest: sha256 of the program that the routines of now want.
-- A body that finds another text asks it whether pgblend was upgraded since the call began.
CREATE OR REPLACE FUNCTION pgblend._program_digest()
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL SAFE
AS $python$
return "#digest"
$python$;

COMMENT ON FUNCTION pgblend._program_digest() IS
'sha256 of the program that the routines of now want.';
