-- _program_code: the program compiled by the server's Python; NULL until _compile_program made it.
-- First come the number of that Python's byte code (4 bytes) and the sha256 of the text and of
-- what follows (32 each). Then comes each module's marshalled code by its name, marshalled. All of
-- it is the body's one constant, in base64, as which _load_program reads it.
CREATE OR REPLACE FUNCTION pgblend._program_code()
RETURNS bytea
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
SELECT NULL::bytea
$function$;
