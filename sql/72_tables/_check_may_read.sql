-- _check_may_read: raise unless whoever asks may read all rows of a table (_may_read_rows).
-- A table that is gone has none to hide.
CREATE OR REPLACE FUNCTION pgblend._check_may_read(relation regclass)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    who name := pgblend._asking_role();
BEGIN
    IF NOT pgblend._may_read_rows(who, relation) THEN
        RAISE EXCEPTION '% may not read all rows of %', who, relation
            USING ERRCODE = '42501',
            HINT = format('GRANT SELECT ON %s TO %I; where row security hides rows, ask the '
                'table''s owner', relation, who);
    END IF;
END;
$function$;
