-- _note_probe: store what a space's model answered to the probe text, to know the model again.
-- A vector of another size than the space's is an error. NULL stores nothing.
-- Runs with its owner's rights, since nobody else writes the registry; only admins may call it.
CREATE OR REPLACE FUNCTION pgblend._note_probe(space text, embedding real[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    target pgblend_data.embedding_space;
BEGIN
    IF embedding IS NULL THEN
        RETURN;
    END IF;
    UPDATE pgblend_data.embedding_space AS s
    SET probe = pgblend._probe_start(embedding), probed_at = now()
    WHERE s.name = space
    RETURNING s.* INTO target;
    IF target.dimensions <> cardinality(embedding) THEN
        RAISE EXCEPTION 'model "%" gives vectors of % dimensions, not of %',
            target.model, cardinality(embedding), target.dimensions
            USING ERRCODE = '22023', HINT = 'Leave dimensions out to take those of the model.';
    END IF;
END;
$function$;
