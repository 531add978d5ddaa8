-- _call_gateway: POST to the model gateway and return its answer.
-- The address is the setting gateway_url, which only an admin can write: no caller names a URL or a
-- key. PB008 when there is no gateway, no answer within timeout_ms, or an error for an answer.
CREATE OR REPLACE FUNCTION pgblend._call_gateway(path text, body jsonb, timeout_ms integer)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    outcome jsonb := pgblend._post_to_gateway(pgblend._gateway_request(path, body, timeout_ms));
BEGIN
    IF outcome ? 'problem' THEN
        RAISE EXCEPTION '%', outcome ->> 'problem'
            USING ERRCODE = 'PB008', HINT = outcome ->> 'hint';
    END IF;
    RETURN outcome -> 'answer';
END;
$function$;
