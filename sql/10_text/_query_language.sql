-- _query_language: the language that a query is probably in, as its ISO 639-1 code.
-- It is that of the dictionary which takes most of the query's words for stop words. Text without
-- them goes by its script, where only one language has it. `und` where none or several are likely.
-- (Configurations will not do: those of other scripts take Latin words for English ones.)
CREATE OR REPLACE FUNCTION pgblend._query_language(query text)
RETURNS text
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
WITH word (text) AS MATERIALIZED (
    SELECT w.lexeme FROM unnest(to_tsvector('simple', left(query, 1000))) AS w
),

language (code, name) AS (
    VALUES
    ('ar', 'arabic'), ('ca', 'catalan'), ('da', 'danish'), ('de', 'german'), ('el', 'greek'),
    ('en', 'english'), ('es', 'spanish'), ('eu', 'basque'), ('fi', 'finnish'), ('fr', 'french'),
    ('ga', 'irish'), ('hi', 'hindi'), ('hu', 'hungarian'), ('hy', 'armenian'),
    ('id', 'indonesian'), ('it', 'italian'), ('lt', 'lithuanian'), ('ne', 'nepali'),
    ('nl', 'dutch'), ('no', 'norwegian'), ('pt', 'portuguese'), ('ro', 'romanian'),
    ('ru', 'russian'), ('sr', 'serbian'), ('sv', 'swedish'), ('ta', 'tamil'), ('tr', 'turkish'),
    ('yi', 'yiddish')
),

likely (code, place) AS (
    SELECT
        l.code,
        rank() OVER (ORDER BY count(*) DESC)
    FROM language AS l
    INNER JOIN pg_catalog.pg_ts_dict AS d
        ON d.dictname = l.name || '_stem' AND d.dictnamespace = 'pg_catalog'::regnamespace
    INNER JOIN word AS w ON ts_lexize(d.oid::regdictionary, w.text) = '{}'
    GROUP BY l.code
)

SELECT coalesce(
    (
        SELECT min(y.code)
        FROM likely AS y
        WHERE y.place = 1
        HAVING count(*) = 1
    ),
    CASE
        WHEN query ~ '[\u3041-\u30ff]' THEN 'ja'
        WHEN query ~ '[\uac00-\ud7a3]' THEN 'ko'
        WHEN query ~ '[\u0e01-\u0e5b]' THEN 'th'
        WHEN query ~ '[\u4e00-\u9fff]' THEN 'zh'
        ELSE 'und' END);
END;
