-- _setting_error: what is wrong with a value for a setting, NULL where nothing is.
-- JSON null is right everywhere: it stands for "not given".
CREATE OR REPLACE FUNCTION pgblend._setting_error(
    value jsonb,
    value_type text,
    minimum double precision,
    maximum double precision,
    allowed_values text[]
)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    number_range text := CASE
        WHEN minimum IS NOT NULL THEN format(' from %s to %s', minimum, maximum) ELSE '' END;
    plain text := value #>> '{}';
    entry record;
BEGIN
    IF value = 'null' THEN
        RETURN NULL;
    ELSIF value_type IN ('integer', 'number') THEN
        IF jsonb_typeof(value) <> 'number'
            OR value_type = 'integer' AND plain LIKE '%.%'
            OR NOT coalesce(plain::numeric BETWEEN minimum::numeric AND maximum::numeric, true)
        THEN
            RETURN format('expected %s%s',
                CASE value_type
                    WHEN 'integer' THEN 'a whole number without a decimal point'
                    ELSE 'a number' END,
                number_range);
        END IF;
    ELSIF value_type = 'boolean' THEN
        IF jsonb_typeof(value) <> 'boolean' THEN
            RETURN 'expected true or false';
        END IF;
    ELSIF value_type = 'switch' AND jsonb_typeof(value) = 'boolean' THEN
        RETURN NULL;
    ELSIF value_type = 'scores' THEN
        IF jsonb_typeof(value) <> 'object' THEN
            RETURN 'expected an object with a score from 0 to 1 for each chunk id';
        END IF;
        SELECT e.key INTO entry FROM jsonb_each(value) AS e
        WHERE e.key !~ '^[0-9]{1,19}$' OR NOT coalesce(
            CASE jsonb_typeof(e.value) WHEN 'number' THEN
                (e.value #>> '{}')::numeric BETWEEN minimum::numeric AND maximum::numeric END,
            false)
        LIMIT 1;
        IF FOUND THEN
            RETURN format('"%s": expected a chunk id with a number%s',
                left(entry.key, 200), number_range);
        END IF;
    ELSIF value_type = 'numbers' AND jsonb_typeof(value) = 'number' THEN
        RETURN pgblend._setting_error(value, 'number', minimum, maximum, NULL);
    ELSIF value_type IN ('object', 'numbers') THEN
        IF jsonb_typeof(value) <> 'object' THEN
            RETURN format('expected %san object with keys %s',
                CASE value_type WHEN 'numbers' THEN 'a number or ' ELSE '' END,
                array_to_string(allowed_values, ', '));
        END IF;
        FOR entry IN SELECT e.key, e.value FROM jsonb_each(value) AS e LOOP
            IF entry.key <> ALL(allowed_values) THEN
                RETURN format('has no key "%s": expected %s',
                    left(entry.key, 200), array_to_string(allowed_values, ', '));
            ELSIF jsonb_typeof(entry.value) <> 'number'
                OR NOT (entry.value #>> '{}')::numeric
                    BETWEEN minimum::numeric AND maximum::numeric
            THEN
                RETURN format('"%s": expected a number%s', entry.key, number_range);
            END IF;
        END LOOP;
    ELSIF pgblend._setting_schema(value_type) IS NOT NULL THEN
        RETURN pgblend._schema_error(value, pgblend._setting_schema(value_type));
    ELSIF jsonb_typeof(value) <> 'string' THEN
        RETURN 'expected a string';
    ELSIF allowed_values IS NOT NULL AND plain <> ALL(allowed_values) THEN
        RETURN format('expected one of %s', array_to_string(allowed_values, ', '));
    ELSIF value_type = 'url' AND plain !~ '^(https?://[^/\s@?#]+(/[^\s@?#]*)?|unix:/.+)$' THEN
        RETURN 'expected http://host:port or unix:/path, without a password or a key';
    ELSIF value_type = 'address' AND plain
        !~ '^(unix:/.{1,100}|(localhost|[0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9a-fA-F:]+\]):[0-9]{1,5})$'
    THEN
        RETURN 'expected localhost:port, the host''s address in numbers with a port, or unix:/path';
    ELSIF value_type = 'date' AND pgblend._iso_timestamp(plain) IS NULL THEN
        RETURN 'expected a date or a timestamp of ISO 8601, such as "2026-01-31"';
    ELSIF value_type = 'text_search_config' AND pgblend._regconfig(plain) IS NULL THEN
        RETURN 'expected a text search configuration (SELECT cfgname FROM pg_ts_config)';
    ELSIF value_type = 'profile' THEN
        IF NOT EXISTS (SELECT FROM pgblend_data.profile AS p WHERE p.name = plain) THEN
            RETURN 'expected the name of a profile (SELECT name FROM blend.profiles)';
        END IF;
    END IF;
    RETURN NULL;
END;
$function$;
