-- _asking_role: who asks: the role in force at the outermost call, also within definer functions.
-- That is what SET ROLE chose, which an application behind a pooler does for each user, else the
-- session's own. Nobody can set it to a role that they are no member of.
CREATE OR REPLACE FUNCTION pgblend._asking_role()
RETURNS name
LANGUAGE sql
STABLE PARALLEL UNSAFE
RETURN coalesce(nullif(current_setting('role'), 'none')::name, session_user);

-- _check_size: raise unless an argument is within a limit of the setting limits.
-- `unit` says what `size` counts. Up to 100, which is the least that a limit can be, nothing is
-- looked up; NULL is within every limit.
CREATE OR REPLACE FUNCTION pgblend._check_size(
    argument text,
    size bigint,
    unit text,
    limit_name text
)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    most bigint;
BEGIN
    IF size IS NULL OR size <= 100 THEN
        RETURN;
    END IF;
    most := blend.get_setting('limits') ->> limit_name;
    IF size > most THEN
        RAISE EXCEPTION '% has % %: expected at most %', argument, size, unit, most
            USING ERRCODE = '22023', HINT = format(
                'A member of pgblend_admin raises the setting limits: set_setting(''limits'', %L)',
                jsonb_build_object(limit_name, size));
    END IF;
END;
$function$;

-- _check_chunk_sizes: raise unless overlap and minimum are below the chunk size.
-- Takes every setting of scope collection in force, as _collection_settings gives them.
CREATE OR REPLACE FUNCTION pgblend._check_chunk_sizes(settings jsonb)
RETURNS void
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $function$
DECLARE
    chunk_size integer := settings ->> 'chunk_size_tokens';
    part text;
BEGIN
    FOREACH part IN ARRAY ARRAY['chunk_overlap_tokens', 'min_chunk_size_tokens'] LOOP
        IF (settings ->> part)::integer >= chunk_size THEN
            RAISE EXCEPTION '% is %: expected less than chunk_size_tokens, which is %',
                part, settings ->> part, chunk_size
                USING ERRCODE = '22023', HINT = 'Raise the one or lower the other first.';
        END IF;
    END LOOP;
END;
$function$;

-- _check_text_search_config: raise unless there is a text search configuration of that name.
-- The hint names those that there are, since people give codes of languages (de).
CREATE OR REPLACE FUNCTION pgblend._check_text_search_config(config_name text)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    IF pgblend._regconfig(config_name) IS NULL THEN
        RAISE EXCEPTION 'there is no text search configuration %',
            coalesce('"' || left(config_name, 200) || '"', 'NULL')
            USING ERRCODE = '22023',
            HINT = pg_catalog.format(
                'Name the configuration, not a code of the language (german, not de): %s. Other'
                ' languages are simple, until create_hunspell_config makes a configuration.', (
                    SELECT pg_catalog.string_agg(c.cfgname, ', ' ORDER BY c.cfgname)
                    FROM pg_catalog.pg_ts_config AS c
                    WHERE pg_catalog.pg_ts_config_is_visible(c.oid)));
    END IF;
END;
$function$;

-- _regconfig: the visible text search configuration of that name, NULL where there is none.
-- plpgsql keeps its plan for the session; an SQL function is planned in each statement. The path
-- says which are visible, so all else is named with its schema.
CREATE OR REPLACE FUNCTION pgblend._regconfig(config_name text)
RETURNS regconfig
LANGUAGE plpgsql
STABLE PARALLEL SAFE
STRICT
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN (
        SELECT c.oid::pg_catalog.regconfig
        FROM pg_catalog.pg_ts_config AS c
        WHERE c.cfgname OPERATOR(pg_catalog.=) config_name
            AND pg_catalog.pg_ts_config_is_visible(c.oid));
END;
$function$;

-- _iso_timestamp: the point in time that an ISO 8601 text gives: a date, or a date and a time.
-- A date is its midnight; without a zone the zone is UTC. NULL for NULL and for any other text,
-- impossible dates (2026-02-30) among them. An expression, so that it is inlined.
CREATE OR REPLACE FUNCTION pgblend._iso_timestamp(value text)
RETURNS timestamptz
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN CASE
    WHEN
        value ~ (
            E'^(?!0000)(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])'
            '|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))'
            '|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])'
            '|(?:[02468][048]|[13579][26])00)-02-29)'
            '(?:[T ](?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d{1,6})?)?'
            '(?:Z|[+-](?:0\\d|1[0-5])(?::?[0-5]\\d)?)?)?$'
        ) COLLATE "C"
        THEN (
            value || CASE
                WHEN length(value) = 10 THEN ' 00:00Z'
                WHEN value ~ E'(?:Z|[+-]\\d\\d(?::?\\d\\d)?)$' THEN ''
                ELSE 'Z'
            END
        )::timestamptz
END;
