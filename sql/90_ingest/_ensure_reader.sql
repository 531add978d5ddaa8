-- _ensure_reader: the function that reads an attached table as the table's owner, made where it is
-- not as it should be; returns its name.
-- Whatever reading evaluates that users wrote (row security, expressions of indexes, rules) has the
-- rights of the table's owner then, not those of who asks. Owners may alter a function that is
-- theirs, but not its body: that refuses to run as anybody else, and qualifies every name.
CREATE OR REPLACE FUNCTION pgblend._ensure_reader(attached pgblend_data.attached_table)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    reader text := format('_read_attached_%s', attached.id);
    table_owner oid := (SELECT c.relowner FROM pg_class AS c WHERE c.oid = attached.relation);
    body text := format($body$
BEGIN
    IF pg_catalog.to_regrole(pg_catalog.quote_ident(CURRENT_USER))
        OPERATOR(pg_catalog.=) %s::pg_catalog.oid
    THEN
        RETURN QUERY EXECUTE query USING keys, most;
    ELSE
        RAISE EXCEPTION 'an attached table is read with the rights of its owner only';
    END IF;
END;
$body$, table_owner);
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_proc AS p
        WHERE p.proname = reader AND p.pronamespace = 'pgblend_data'::regnamespace
            AND p.proowner = table_owner AND p.prosecdef AND p.prosrc = body
            AND p.proconfig = '{"search_path=pg_catalog, pg_temp"}')
    THEN
        PERFORM pgblend._drop_reader(attached.id);
        EXECUTE format(
            'CREATE FUNCTION pgblend_data.%1$I(query text, keys text[], most integer)
            RETURNS SETOF pgblend_data.attached_row
            LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
            SET search_path = pg_catalog, pg_temp
            AS %2$L;
            REVOKE ALL ON FUNCTION pgblend_data.%1$I(text, text[], integer) FROM public;
            COMMENT ON FUNCTION pgblend_data.%1$I(text, text[], integer) IS %3$L;
            ALTER FUNCTION pgblend_data.%1$I(text, text[], integer) OWNER TO %4$I;',
            reader, body, 'Reads an attached table with the rights of its owner.',
            pg_get_userbyid(table_owner));
    END IF;
    RETURN reader;
END;
$function$;
