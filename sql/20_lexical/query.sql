-- _parse_query: what a query means under one text search configuration (plpy/lexical/query.py).
-- `lexemes` rank, any of them, in byte order; `boosts` says how many times its idf each weighs.
-- A blank query, or one of stop words only, has no lexemes; `stop_words` are left out beside the
-- configuration's own. `operands` are the phrases and exclusions that must hold (_query_condition),
-- with the number of the alternative of each; empty where anything passes.
CREATE OR REPLACE FUNCTION pgblend._parse_query(
    query text,
    config_name text,
    stop_words text[] DEFAULT '{}',
    OUT lexemes text[],
    OUT boosts double precision[],
    OUT alternatives integer[],
    OUT operands tsquery[],
    OUT exclusions boolean[]
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.lexical.query import parse_query

parsed = parse_query(db, query, config_name, stop_words)
return parsed.lexemes, parsed.boosts, *parsed.columns()
$python$;

-- _check_query: raise unless a query is within the setting limits, before anything parses it.
-- NULL is. Characters are counted first, so that what counts words and operators is bounded itself.
-- A query of up to 100 characters has no more words than that.
CREATE OR REPLACE FUNCTION pgblend._check_query(query text)
RETURNS void
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.query import check_query

check_query(db, query)
$python$;

-- _query_condition: what must hold of a passage, from the operands that _parse_query gives.
-- An alternative holds where all of its operands do, or do not where they are excluded. No operands
-- give NULL.
CREATE OR REPLACE FUNCTION pgblend._query_condition(
    alternatives integer[],
    operands tsquery[],
    exclusions boolean[]
)
RETURNS tsquery
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT pgblend._join_conditions(array_agg(a.condition ORDER BY a.number), true)
    FROM (
        SELECT
            o.number,
            pgblend._join_conditions(
                array_agg(
                    CASE WHEN o.is_excluded THEN tsquery_not(o.operand) ELSE o.operand END
                ), false
            ) AS condition
        FROM unnest(alternatives, operands, exclusions) AS o (number, operand, is_excluded)
        GROUP BY o.number
    ) AS a;
END;

-- _join_conditions: conditions joined into one, all of which must hold, or any of them.
-- Neighbours are joined in pairs, again and again. One after the other, each would copy all before
-- it, and the tree would be as deep as there are conditions. No conditions give NULL.
CREATE OR REPLACE FUNCTION pgblend._join_conditions(conditions tsquery[], of_any boolean)
RETURNS tsquery
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
    WHILE cardinality(conditions) > 1 LOOP
        conditions := ARRAY(
            SELECT CASE
                WHEN cardinality(p.pair) = 1 THEN p.pair[1]
                WHEN of_any THEN p.pair[1] || p.pair[2]
                ELSE p.pair[1] && p.pair[2] END
            FROM (
                SELECT (c.place - 1) / 2 AS number, array_agg(c.part ORDER BY c.place) AS pair
                FROM unnest(conditions) WITH ORDINALITY AS c (part, place)
                GROUP BY (c.place - 1) / 2
            ) AS p
            ORDER BY p.number);
    END LOOP;
    RETURN conditions[1];
END;
$function$;

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
        WHEN query ~ E'[\\u3041-\\u30ff]' THEN 'ja'
        WHEN query ~ E'[\\uac00-\\ud7a3]' THEN 'ko'
        WHEN query ~ E'[\\u0e01-\\u0e5b]' THEN 'th'
        WHEN query ~ E'[\\u4e00-\\u9fff]' THEN 'zh'
        ELSE 'und' END);
END;

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

-- _query_lexemes: the lexemes of a query's words under some text search configurations, a row each.
-- `texts` are the words as the parser gets them (indexable_text of plpy/lexical/words.py) under
-- each of the configurations `known`; one that is not among these has NULL for its lexemes.
-- `counts` say how often each stands there. `stop_words` are left out beside the configuration's
-- own. Words that are too long for a lexeme are left out, without a NOTICE. No configurations, and
-- NULL for them, give no rows.
CREATE OR REPLACE FUNCTION pgblend._query_lexemes(
    texts text[],
    known text[],
    config_names text[],
    stop_words text[]
)
RETURNS TABLE (config_name text, lexemes text[], counts integer[])
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 1
SET client_min_messages = warning
AS $function$
DECLARE
    config regconfig;
    vector tsvector;
BEGIN
    FOREACH config_name IN ARRAY coalesce(config_names, '{}') LOOP
        config := pgblend._regconfig(config_name);
        vector := to_tsvector(config, texts[array_position(known, config_name)]);
        IF stop_words <> '{}' THEN
            vector := ts_delete(vector, tsvector_to_array(
                to_tsvector(config, array_to_string(stop_words, ' '))));
        END IF;
        SELECT
            coalesce(array_agg(w.lexeme), '{}'),
            coalesce(array_agg(cardinality(w.positions)), '{}')
        INTO lexemes, counts
        FROM unnest(vector) AS w
        HAVING vector IS NOT NULL;
        RETURN NEXT;
    END LOOP;
END;
$function$;

-- _query_operands: some texts of a query as tsqueries under a text search configuration.
-- They are as the parser gets them. `place` counts the texts from 0. Of a text that `is_words` any
-- word will do, another is a phrase. Stop words alone ask for nothing: they give no row, and no
-- NOTICE. NULL gives none.
CREATE OR REPLACE FUNCTION pgblend._query_operands(
    config_name text,
    texts text[],
    is_words boolean[]
)
RETURNS TABLE (place integer, operand text)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET client_min_messages = warning
AS $function$
DECLARE
    config regconfig := pgblend._regconfig(config_name);
BEGIN
    RETURN QUERY
    SELECT t.place::integer - 1, o.operand::text
    FROM unnest(texts, is_words) WITH ORDINALITY AS t (text, is_words, place)
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN t.is_words THEN pgblend._lexeme_tsquery(
                tsvector_to_array(to_tsvector(config, t.text)))
            ELSE phraseto_tsquery(config, t.text) END AS operand
    ) AS o
    WHERE numnode(o.operand) > 0
    ORDER BY t.place;
END;
$function$;

-- _lexeme_tsquery: a tsquery that matches any of the lexemes, which are taken as they are.
-- NULL and no lexemes give NULL.
CREATE OR REPLACE FUNCTION pgblend._lexeme_tsquery(lexemes text[])
RETURNS tsquery
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT string_agg(
        '''' || replace(replace(l.lexeme, E'\\', E'\\\\'), '''', '''''') || '''', ' | '
        ORDER BY l.lexeme COLLATE "C"
    )::tsquery
    FROM unnest(_lexeme_tsquery.lexemes) AS l (lexeme);
END;

-- _query_stop_words: those of a query's words that are stop words in the language that it is
-- probably in.
-- The words are as the parser gets them. That is the configuration which takes most of them for
-- stop words, and not all of them; none where no configuration has any. Without this an English
-- "the", which English documents do not index, would be a rare and telling word of a German
-- document.
CREATE OR REPLACE FUNCTION pgblend._query_stop_words(words text, config_names text[])
RETURNS text[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN (
        WITH word AS MATERIALIZED (
            SELECT w.lexeme AS text
            FROM unnest(to_tsvector('simple', words)) AS w
        )

        SELECT coalesce((
            SELECT array_agg(one_word.text)
            FROM unnest(config_names) AS config_name
            CROSS JOIN word AS one_word
            WHERE to_tsvector(pgblend._regconfig(config_name), one_word.text) = ''
            GROUP BY config_name
            HAVING count(*) < (SELECT count(*) FROM word)
            ORDER BY count(*) DESC, config_name ASC
            LIMIT 1
        ), '{}'));
END;
$function$;
