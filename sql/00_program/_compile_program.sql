-- _compile_program: replace _program_code by what the server's Python makes of the program.
-- For the routines' owner, after an upgrade, or where the server has another Python than before.
CREATE OR REPLACE FUNCTION pgblend._compile_program()
RETURNS void
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $python$
from _frozen_importlib_external import MAGIC_NUMBER
from base64 import b64encode
from pgblend.plpy.base.program import compiled

found = plpy.execute(
    "SELECT p AS program, sha256(convert_to(p, 'UTF8')) AS digest FROM pgblend._program() AS p")[0]
code = compiled(found["program"])
checksum = db.run("SELECT sha256($1) AS checksum", ["bytea"], code)[0]["checksum"]
kept = b64encode(MAGIC_NUMBER + found["digest"] + checksum + code).decode()
plpy.execute(
    "CREATE OR REPLACE FUNCTION pgblend._program_code() RETURNS bytea LANGUAGE sql"
    " IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $function$\n"
    f"SELECT decode('{kept}', 'base64')\n$function$")
$python$;
