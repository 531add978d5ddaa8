-- _check_can_index: whether this session can write segments: false, with a NOTICE, without numpy.
-- A transaction that does not see what others commit is an error.
CREATE OR REPLACE FUNCTION pgblend._check_can_index()
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the lexical index cannot be written at isolation level %',
            current_setting('transaction_isolation')
            USING ERRCODE = '25001', HINT = 'Use a transaction at READ COMMITTED.';
    ELSIF NOT pgblend._has_numpy() THEN
        RAISE NOTICE 'nothing is sealed: the server''s Python has no numpy'
            USING HINT = 'Install it there (Debian: python3-numpy). What waits is sealed then.';
        RETURN false;
    END IF;
    RETURN true;
END;
$function$;
