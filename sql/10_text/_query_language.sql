-- _query_language: the language that a query is probably in, as its ISO 639-1 code.
-- It is that of the configuration which _query_configuration finds. Text without stop words goes by
-- its script, where only one language has it. `und` where none or several are likely.
CREATE OR REPLACE FUNCTION pgblend._query_language(query text)
RETURNS text
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
WITH language (code, name) AS (
    VALUES
    ('ar', 'arabic'), ('ca', 'catalan'), ('da', 'danish'), ('de', 'german'), ('el', 'greek'),
    ('en', 'english'), ('es', 'spanish'), ('eu', 'basque'), ('fi', 'finnish'), ('fr', 'french'),
    ('ga', 'irish'), ('hi', 'hindi'), ('hu', 'hungarian'), ('hy', 'armenian'),
    ('id', 'indonesian'), ('it', 'italian'), ('lt', 'lithuanian'), ('ne', 'nepali'),
    ('nl', 'dutch'), ('no', 'norwegian'), ('pt', 'portuguese'), ('ro', 'romanian'),
    ('ru', 'russian'), ('sr', 'serbian'), ('sv', 'swedish'), ('ta', 'tamil'), ('tr', 'turkish'),
    ('yi', 'yiddish')
)

SELECT coalesce(
    (
        SELECT l.code
        FROM language AS l
        WHERE l.name = pgblend._query_configuration(
            query, (SELECT array_agg(n.name) FROM language AS n))
    ),
    CASE
        WHEN query ~ '[\u3041-\u30ff]' THEN 'ja'
        WHEN query ~ '[\uac00-\ud7a3]' THEN 'ko'
        WHEN query ~ '[\u0e01-\u0e5b]' THEN 'th'
        WHEN query ~ '[\u4e00-\u9fff]' THEN 'zh'
        ELSE 'und' END);
END;
