-- _map_user: let a role go to shards as a user there, with a password (NULL: none).
-- A mapping for each role, never for PUBLIC, which would undo row security. Again replaces it. Only
-- who owns the server pgblend_shards may call it.
CREATE OR REPLACE FUNCTION pgblend._map_user(role_name text, user_name text, password text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    -- Calls in text: none (a role by name, a login as text).
    EXECUTE format('DROP USER MAPPING IF EXISTS FOR %I SERVER pgblend_shards', role_name);
    EXECUTE format(
        'CREATE USER MAPPING FOR %I SERVER pgblend_shards OPTIONS (user %L%s)',
        role_name, user_name, coalesce(', password ' || quote_literal(password), ''));
END;
$function$;
