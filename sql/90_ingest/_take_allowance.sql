-- _take_allowance: count off texts that are sent to a space's model, at most what the bucket holds.
-- Nothing where there is no bucket, or texts is NULL or negative. Runs with its owner's rights: it
-- only takes, and what flows in later is everybody's again.
CREATE OR REPLACE FUNCTION pgblend._take_allowance(space text, texts integer)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    UPDATE pgblend_data.embedding_allowance AS a
    SET texts = greatest(a.texts - _take_allowance.texts, 0)
    WHERE a.space = _take_allowance.space AND _take_allowance.texts > 0;
END;
$function$;
