-- _setting_values: what is set for the whole database, with pins in the place of what was stored.
-- gateway_url and log_address, to which the server sends texts and its token, can be pinned. ALTER
-- ROLE ALL SET pgblend.gateway_url does so or, for one database, ALTER DATABASE. Only superusers,
-- and whom they let, may set a parameter that the server does not know. Both are read from the
-- catalogue: in a session anybody can set the parameter.
CREATE OR REPLACE VIEW pgblend._setting_values WITH (security_invoker = true) AS
WITH pinned AS MATERIALIZED (
    SELECT DISTINCT ON (name)
        substr(split_part(o.option, '=', 1), 9) COLLATE "default" AS name,
        to_jsonb(substr(o.option, strpos(o.option, '=') + 1)) AS value
    FROM pg_catalog.pg_db_role_setting AS c
    CROSS JOIN LATERAL unnest(c.setconfig) AS o (option)
    WHERE
        c.setrole = 0
        AND o.option ~ '^pgblend\.(gateway_url|log_address)='
        AND c.setdatabase IN (
            0,
            (
                SELECT d.oid FROM pg_catalog.pg_database AS d
                WHERE d.datname = current_database()
            )
        )
    ORDER BY name, c.setdatabase  -- 0: of all databases
)

SELECT
    p.name,  -- Setting.
    p.value,  -- Its value.
    'server' AS source,  -- server where it is pinned, else database.
    NULL::name AS changed_by,  -- Who set it; NULL where it is pinned.
    NULL::timestamptz AS changed_at  -- When; NULL where it is pinned.
FROM pinned AS p
UNION ALL
SELECT
    s.name,
    s.value,
    'database' AS source,
    s.changed_by,
    s.changed_at
FROM pgblend_data.setting AS s
WHERE s.name NOT IN (SELECT p.name FROM pinned AS p);
