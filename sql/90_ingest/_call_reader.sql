-- _call_reader: the rows that a query gives when the owner of an attached table asks it.
-- What the owner's code does meanwhile must not live on: it is read in a subtransaction that is
-- always undone, which keeps the rows, and takes back settings of every name, cursors, channels and
-- locks of the transaction. Nothing can be written besides, sequences included. Prepared statements
-- are not undone: those that came, or have another meaning, are dropped. Not in a trigger, where
-- the table's owner could prepare as much by a trigger of their own.
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
AS $function$
DECLARE
    is_read boolean := false;
    prepared text[] := CASE WHEN pg_trigger_depth() = 0 THEN ARRAY(
        SELECT ROW(p.name, p.prepare_time, p.statement)::text FROM pg_prepared_statements AS p) END;
    stale text;
BEGIN
    PERFORM set_config('transaction_read_only', 'on', true);  -- since 18 no function's own setting
    RETURN QUERY EXECUTE format('SELECT r.* FROM pgblend_data.%I($1, $2, $3) AS r', reader)
    USING query, keys, most;
    is_read := true;
    RAISE EXCEPTION 'undo';
EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
    IF prepared IS NOT NULL THEN
        FOREACH stale IN ARRAY ARRAY(
            SELECT p.name FROM pg_prepared_statements AS p
            WHERE ROW(p.name, p.prepare_time, p.statement)::text <> ALL(prepared))
        LOOP
            EXECUTE format('DEALLOCATE %I', stale);
        END LOOP;
    END IF;
    IF NOT is_read THEN
        RAISE;
    END IF;
END;
$function$;
