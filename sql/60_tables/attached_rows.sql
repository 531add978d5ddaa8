-- _attached_rows: rows of an attached table (_own_rows); what was HTML is text, titles too.
CREATE OR REPLACE FUNCTION pgblend._attached_rows(
    attached pgblend_data.attached_table,
    what text,
    keys text[],
    most integer
)
RETURNS SETOF pgblend_data.attached_row
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT r.key, r.parts, coalesce(h.title, r.title), coalesce(h.content, r.content),
        r.metadata, r.uri, r.modified_at, r.targets, r.embedding, r.readers
    FROM pgblend._own_rows(attached, what, keys, most) AS r
    CROSS JOIN LATERAL pgblend._html_row(
        CASE attached.text_format WHEN 'html' THEN r.content END, r.title) AS h;
END;
$function$;

-- _html_row: the text of HTML columns, a blank line between them, or else the title; and the title.
-- columns is a JSON array of texts and NULLs, as readers of attached tables return it.
CREATE OR REPLACE FUNCTION pgblend._html_row(columns text, INOUT title text, OUT content text)
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.lexical.html import html_text

return html_text(json.loads(columns), title)
$python$;

-- _own_rows: rows of an attached table, by _read_as_owner for those who may call it and by
-- _read_attached for others. A row filter is read as it was when it was judged (_row_filter),
-- however the session reads backslashes.
CREATE OR REPLACE FUNCTION pgblend._own_rows(
    attached pgblend_data.attached_table,
    what text,
    keys text[],
    most integer
)
RETURNS SETOF pgblend_data.attached_row
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET standard_conforming_strings = on
AS $function$
BEGIN
    IF has_function_privilege(
        'pgblend._read_as_owner(pgblend_data.attached_table, text, text[], integer)', 'EXECUTE')
    THEN
        RETURN QUERY SELECT r.* FROM pgblend._read_as_owner(attached, what, keys, most) AS r;
    ELSE
        RETURN QUERY SELECT r.* FROM pgblend._read_attached(attached.id, what, keys, most) AS r;
    END IF;
END;
$function$;

-- _read_attached: _read_as_owner for admins that may read all rows of the table themselves.
-- Runs with its owner's rights, to make the function of the table's owner. Who asks is the role in
-- force at the outermost call; table and columns are those of the registry, not the caller's.
CREATE OR REPLACE FUNCTION pgblend._read_attached(
    attachment_id integer,
    what text,
    keys text[],
    most integer
)
RETURNS SETOF pgblend_data.attached_row
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    attached pgblend_data.attached_table;
BEGIN
    SELECT a.* INTO attached FROM pgblend_data.attached_table AS a WHERE a.id = attachment_id;
    PERFORM pgblend._check_may_read(attached.relation);
    RETURN QUERY SELECT r.* FROM pgblend._read_as_owner(attached, what, keys, most) AS r;
END;
$function$;

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

-- _may_read_rows: whether a role may read a table, and row security hides no row of it from the
-- role. NULL where the table is gone.
CREATE OR REPLACE FUNCTION pgblend._may_read_rows(who name, relation oid)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT has_table_privilege(who, c.oid, 'SELECT') AND (
        NOT c.relrowsecurity OR r.rolsuper OR r.rolbypassrls
        OR NOT c.relforcerowsecurity AND pg_has_role(who, c.relowner, 'USAGE'))
    FROM pg_catalog.pg_class AS c
    INNER JOIN pg_catalog.pg_roles AS r ON r.rolname = who
    WHERE c.oid = relation;
END;

-- _read_as_owner: rows of an attached table, read with the rights of its owner.
-- what is rows (those of keys, in their order), next (keys and parts of the first most rows after
-- the key whose parts are in keys, or after none) or keys (those of all rows). For those who may
-- make functions of others alone: triggers on the table, superusers, and _read_attached.
-- What the owner's code does meanwhile must not live on. So it is read in a subtransaction that is
-- always undone. That keeps the rows, and takes back settings of every name, cursors, channels and
-- locks of the transaction. Nothing can be written besides, sequences included. Prepared
-- statements are not undone: those that came, or have another meaning, are dropped. Not in a
-- trigger, where the table's owner could prepare as much by a trigger of their own.
CREATE OR REPLACE FUNCTION pgblend._read_as_owner(
    attached pgblend_data.attached_table,
    what text,
    keys text[],
    most integer
)
RETURNS SETOF pgblend_data.attached_row
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    how record;
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
    PERFORM pgblend._ensure_reader(attached);
    BEGIN
        PERFORM set_config('transaction_read_only', 'on', true);  -- since 18 no function's own setting
        -- Calls in text: none (a table's reader).
        RETURN QUERY EXECUTE format(
            'SELECT r.* FROM pgblend_data._read_attached_%s($1, $2, $3) AS r', attached.id)
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

-- _ensure_reader: make the function that reads an attached table as the table's owner, where it is
-- not as it should be.
-- Whatever reading evaluates that users wrote (row security, expressions of indexes, rules) has the
-- rights of the table's owner then, not those of who asks. Owners may alter a function that is
-- theirs, but not its body: that refuses to run as anybody else, and qualifies every name. Row
-- filters and values are texts, which have the same meaning in every session (_row_filter).
CREATE OR REPLACE FUNCTION pgblend._ensure_reader(attached pgblend_data.attached_table)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET quote_all_identifiers = off  -- else its search_path is kept in another form
AS $function$
DECLARE
    table_owner oid := (SELECT c.relowner FROM pg_class AS c WHERE c.oid = attached.relation);
    settings CONSTANT text[] := ARRAY['search_path=pg_catalog, pg_temp',
        'standard_conforming_strings=on', 'array_nulls=on', 'transform_null_equals=off',
        'extra_float_digits=1', 'bytea_output=hex', 'DateStyle=ISO, YMD', 'IntervalStyle=iso_8601',
        'TimeZone=UTC'];  -- as pg_proc has them
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
        WHERE p.proname = format('_read_attached_%s', attached.id)
            AND p.pronamespace = 'pgblend_data'::regnamespace
            AND p.proowner = table_owner AND p.prosecdef AND p.prosrc = body
            AND p.proconfig = settings)
    THEN
        PERFORM pgblend._drop_reader(attached.id);
        -- Calls in text: none (a table's reader).
        EXECUTE format(
            'CREATE FUNCTION pgblend_data._read_attached_%1$s(query text, keys text[], most integer)
            RETURNS SETOF pgblend_data.attached_row
            LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
            SET search_path = pg_catalog, pg_temp
            %5$s
            AS %2$L;
            REVOKE ALL ON FUNCTION pgblend_data._read_attached_%1$s FROM public;
            COMMENT ON FUNCTION pgblend_data._read_attached_%1$s IS %3$L;
            ALTER FUNCTION pgblend_data._read_attached_%1$s OWNER TO %4$I;',
            attached.id, body, 'Reads an attached table with the rights of its owner.',
            pg_get_userbyid(table_owner), (
                SELECT string_agg(regexp_replace(s, '^([A-Za-z_]+)=(.*)$', E'SET \\1 = ''\\2'''), E'\n')
                FROM unnest(settings[2:]) AS s));
    END IF;
END;
$function$;

-- _may_become: whether a role may take another's place, by SET ROLE.
CREATE OR REPLACE FUNCTION pgblend._may_become(who name, other oid)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN pg_has_role(
    who, other,
    CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END
);
