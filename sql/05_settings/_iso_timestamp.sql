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
            '^(?!0000)(?:\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])'
            '|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))'
            '|(?:\d\d(?:0[48]|[2468][048]|[13579][26])'
            '|(?:[02468][048]|[13579][26])00)-02-29)'
            '(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?'
            '(?:Z|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)?)?$'
        ) COLLATE "C"
        THEN (
            value || CASE
                WHEN length(value) = 10 THEN ' 00:00Z'
                WHEN value ~ '(?:Z|[+-]\d\d(?::?\d\d)?)$' THEN ''
                ELSE 'Z'
            END
        )::timestamptz
END;
