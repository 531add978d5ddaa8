-- _embedding_allowance: how many of the wanted texts may be sent to a space's model now.
-- A bucket that all workers share: embedding_texts_per_minute flow in evenly, and it holds ten
-- seconds' worth. Locks the bucket until the transaction ends; whoever takes texts counts them off
-- (_take_allowance). Runs with its owner's rights, since a writer could fill or empty the bucket.
-- Without that setting everything may; a NULL wanted means as many as there are.
CREATE OR REPLACE FUNCTION pgblend._embedding_allowance(space text, wanted integer)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    per_second double precision :=
        (blend.get_setting('embedding_texts_per_minute') #>> '{}')::double precision / 60;
    holds double precision := greatest(per_second * 10, 1);
    available double precision;
BEGIN
    IF per_second IS NULL THEN
        RETURN wanted;
    END IF;
    INSERT INTO pgblend_data.embedding_allowance AS a (space, texts, counted_at)
    SELECT s.name, holds, clock_timestamp()
    FROM pgblend_data.embedding_space AS s
    WHERE s.name = _embedding_allowance.space
    ON CONFLICT ON CONSTRAINT embedding_allowance_pkey DO UPDATE
    SET texts = least(
            holds, a.texts + per_second * extract(epoch FROM excluded.counted_at - a.counted_at)),
        counted_at = excluded.counted_at
    RETURNING a.texts INTO available;
    RETURN least(floor(greatest(available, 0)), wanted);
END;
$function$;
