-- _call_reader: the rows that a query gives when the owner of an attached table asks it.
-- What the owner's code does meanwhile must not live on. It can write nothing, since a deferred
-- trigger would fire as who commits; and where it changed search_path, which would outlive the
-- function, the call fails.
CREATE OR REPLACE FUNCTION pgblend._call_reader(
    reader text,
    query text,
    keys text[],
    most integer
)
RETURNS SETOF pgblend_data.attached_row
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET transaction_read_only = on
AS $function$
BEGIN
    RETURN QUERY EXECUTE format('SELECT r.* FROM pgblend_data.%I($1, $2, $3) AS r', reader)
    USING query, keys, most;
    IF pg_catalog.current_setting('search_path')
        OPERATOR(pg_catalog.<>) 'pg_catalog, pg_temp'
    THEN
        RAISE EXCEPTION 'search_path was changed while rows of an attached table were read'
            USING ERRCODE = '42501',
            HINT = 'Functions of its policies, indexes and rules may change it by SET LOCAL only.';
    END IF;
END;
$function$;

COMMENT ON FUNCTION pgblend._call_reader(text, text, text[], integer) IS
'The rows that a query gives when the owner of an attached table asks it; nothing can be written '
'meanwhile.';
