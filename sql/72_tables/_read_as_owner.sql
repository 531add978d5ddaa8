-- _read_as_owner: rows of an attached table, read with the rights of its owner.
-- what is rows (those of keys, in their order), next (keys and parts of the first most rows after
-- the key whose parts are in keys, or after none) or keys (those of all rows). For those who may
-- make functions of others alone: triggers on the table, superusers, and _read_attached.
-- What the owner's code does meanwhile must not live on: it is read in a subtransaction that is
-- always undone, which keeps the rows, and takes back settings of every name, cursors, channels and
-- locks of the transaction. Nothing can be written besides, sequences included. Prepared statements
-- are not undone: those that came, or have another meaning, are dropped. Not in a trigger, where
-- the table's owner could prepare as much by a trigger of their own.
CREATE OR REPLACE FUNCTION pgblend._read_as_owner(
    attached pgblend_data.attached_table,
    what text,
    keys text[],
    most integer
)
RETURNS SETOF pgblend_data.attached_row
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    how record;
    reader text;
    is_read boolean := false;
    prepared text[] := CASE WHEN pg_trigger_depth() = 0 THEN ARRAY(
        SELECT ROW(p.name, p.prepare_time, p.statement)::text FROM pg_prepared_statements AS p) END;
    stale text;
BEGIN
    IF what = 'next' THEN
        attached.filled_to := keys;
    END IF;
    how := pgblend._attachment_queries(attached);
    IF how.problem IS NOT NULL THEN
        RAISE EXCEPTION '%', how.problem
            USING ERRCODE = '42703',
            HINT = 'Name the columns anew: blend.attach_table(…), as for a new table.';
    END IF;
    reader := pgblend._ensure_reader(attached);
    BEGIN
        PERFORM set_config('transaction_read_only', 'on', true);  -- since 18 no function's own setting
        -- Calls in text: none (a table's reader).
        RETURN QUERY EXECUTE format('SELECT r.* FROM pgblend_data.%I($1, $2, $3) AS r', reader)
        USING
            CASE what
                WHEN 'rows' THEN how.rows_query
                WHEN 'keys' THEN how.keys_query
                ELSE how.next_query END,
            keys, most;
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
END;
$function$;
