-- _context_settings: the settings of a search whose results are made into a context, checked.
-- Reserves that are more than max_tokens together are an error: they could not be kept.
CREATE OR REPLACE FUNCTION pgblend._context_settings(
    options jsonb,
    profile text,
    collections text[]
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    settings jsonb := pgblend._search_settings(
        options, profile, pgblend._searched_collections(collections));
    reserved numeric := (
        SELECT coalesce(sum(e.value::numeric), 0)
        FROM jsonb_each(settings -> 'reserve_tokens') AS e);
BEGIN
    IF reserved > (settings ->> 'max_tokens')::numeric THEN
        RAISE EXCEPTION 'options: "reserve_tokens" are % together: expected at most max_tokens (%)',
            reserved, settings ->> 'max_tokens'
            USING ERRCODE = '22023', HINT = 'Raise max_tokens, or reserve less.';
    END IF;
    RETURN settings;
END;
$function$;
