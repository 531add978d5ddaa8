-- _query_configuration: which of some text search configurations a query's language has.
-- It is that whose dictionary takes most of the query's words for stop words; NULL where none or
-- several are likely. (Configurations will not do: those of other scripts take Latin words for
-- English ones.)
CREATE OR REPLACE FUNCTION pgblend._query_configuration(query text, config_names text[])
RETURNS text
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
WITH word (text) AS MATERIALIZED (
    SELECT w.lexeme FROM unnest(to_tsvector('simple', left(query, 1000))) AS w
),

likely (name, place) AS (
    SELECT
        c.name,
        rank() OVER (ORDER BY count(*) DESC)
    FROM unnest(config_names) AS c (name)
    INNER JOIN pg_catalog.pg_ts_dict AS d
        ON d.dictname = c.name || '_stem' AND d.dictnamespace = 'pg_catalog'::regnamespace
    INNER JOIN word AS w ON ts_lexize(d.oid::regdictionary, w.text) = '{}'
    GROUP BY c.name
)

SELECT min(y.name) FROM likely AS y
WHERE y.place = 1
HAVING count(*) = 1;
END;
