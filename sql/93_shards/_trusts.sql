-- _trusts: whether a server lets this one in as a user without a password, by that connection
-- string. By what the account has that this server runs as, too, unless the string is _shielded. Of
-- a server that does not answer nobody knows: false. Only a superuser calls it.
CREATE OR REPLACE FUNCTION pgblend._trusts(connection text, user_name text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    answer integer;
BEGIN
    -- Calls in text: none (a routine of this session alone).
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION pg_temp.asked_without_password() RETURNS integer
        LANGUAGE plproxy AS %L', format('CONNECT %L; SELECT 1;', format(
            '%s user=''%s''', connection,
            regexp_replace(user_name, '([''\\])', '\\\1', 'g'))));
    EXECUTE 'SELECT pg_temp.asked_without_password()' INTO answer;
    RETURN true;
EXCEPTION WHEN OTHERS THEN
    RETURN false;
END;
$function$;
