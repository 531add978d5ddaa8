-- _parse_query: what a query means under one text search configuration.
-- `lexemes` rank, any of them, in byte order; `boosts` says how many times its idf each weighs: a
-- word by how often it stands in the query, tf · 11 / (tf + 10) as in Okapi. `condition` (phrases,
-- exclusions) must hold and is NULL where there is none. A blank query, or one of stop words only,
-- has no lexemes; `stop_words` are left out beside the configuration's own, and so is the end of
-- I'm, don't and you'll, which would rank as a rare letter.
-- Where identifiers make at least half of the query, each is a lexeme of its own beside its words.
-- It is no more frequent than any of them, so this many times its idf (and a tenth, for long
-- passages) outweighs them all: it comes before its words, however often they are repeated. Names
-- of documents ("==…") come before all of these, far before, so that fusion keeps them first: the
-- identifiers, the query as a whole beside them or where it is one word with signs (fake-memo).
CREATE OR REPLACE FUNCTION pgblend._parse_query(
    query text,
    config_name text,
    stop_words text[] DEFAULT '{}',
    OUT lexemes text[],
    OUT boosts double precision[],
    OUT condition tsquery
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET client_min_messages = warning
SET plan_cache_mode = force_generic_plan
AS $function$
DECLARE
    config regconfig := pgblend._regconfig(config_name);
    parsed jsonb := CASE
        WHEN query ~* '["-]|\mor\M' THEN pgblend._query_groups(query)
        ELSE jsonb_build_object('words', query, 'groups', '[]'::jsonb) END;  -- no operators
    words tsvector := to_tsvector(config, pgblend._indexable_text(regexp_replace(
        parsed ->> 'words', '([[:alpha:]])[''’](m|d|s|t|ll|re|ve)\M', '\1', 'gi')));
    identifiers text[] := CASE
        WHEN query ~ '[^[:alnum:][:space:]]|[a-z]{2}[A-Z]'  -- no others are found: a quick look
        THEN pgblend._identifiers(parsed ->> 'words', false) ELSE '{}' END;
    names text[];
    in_identifiers integer;
    identifier_boost double precision;
    query_groups jsonb := parsed -> 'groups';
    query_group jsonb;
    group_condition tsquery;
    group_conditions tsquery[] := '{}';
BEGIN
    IF stop_words <> '{}' THEN
        words := ts_delete(
            words, tsvector_to_array(to_tsvector(config, array_to_string(stop_words, ' '))));
    END IF;
    names := CASE
        WHEN identifiers <> '{}' OR query ~ '[[:alnum:]][^[:alnum:]]' AND query !~ '[[:space:]]'
        THEN identifiers || pgblend._whole_name(parsed ->> 'words') ELSE '{}' END;
    IF names = '{}' AND query_groups = '[]' THEN  -- plain words: what follows, in less time
        SELECT
            coalesce(array_agg(w.lexeme ORDER BY w.lexeme COLLATE "C"), '{}'),
            coalesce(array_agg(
                11.0::double precision * cardinality(w.positions) / (10 + cardinality(w.positions))
                ORDER BY w.lexeme COLLATE "C"), '{}')
        INTO lexemes, boosts
        FROM unnest(words) AS w;
        RETURN;
    END IF;
    in_identifiers := length(
        to_tsvector(config, pgblend._indexable_text(array_to_string(identifiers, ' '))));
    identifier_boost := greatest(1, 1.1 * (
        SELECT sum(cardinality(w.positions)) FROM unnest(words) AS w));
    SELECT
        coalesce(array_agg(term.lexeme ORDER BY term.lexeme COLLATE "C"), '{}'),
        coalesce(array_agg(term.boost ORDER BY term.lexeme COLLATE "C"), '{}')
    INTO lexemes, boosts
    FROM (
        SELECT
            w.lexeme,
            11.0::double precision * cardinality(w.positions)
            / (10 + cardinality(w.positions)) AS boost
        FROM unnest(words) AS w
        UNION ALL
        SELECT '=' || i.identifier, identifier_boost
        FROM unnest(identifiers) AS i (identifier)
        WHERE 2 * in_identifiers >= length(words)
        UNION
        SELECT '==' || n.name, 10 * identifier_boost * (1 + cardinality(identifiers))
        FROM unnest(names) AS n (name)
        WHERE n.name <> '' AND (identifiers = '{}' OR 2 * in_identifiers >= length(words))
    ) AS term;
    FOR query_group IN SELECT g.value FROM jsonb_array_elements(query_groups) AS g LOOP
        group_condition := pgblend._join_conditions(
            ARRAY(
                SELECT CASE WHEN o.excluded THEN !!o.operand ELSE o.operand END
                FROM pgblend._group_operands(
                    config, query_group, jsonb_array_length(query_groups) > 1) AS o),
            false);
        IF group_condition IS NULL THEN
            RETURN;
        END IF;
        group_conditions := array_append(group_conditions, group_condition);
    END LOOP;
    -- Alternatives of plain words alone say no more than the lexemes do.
    IF NOT jsonb_path_exists(parsed, '$.groups[*] ? (exists(@.phrases[*]) || exists(@.excluded[*]))')
    THEN
        RETURN;
    END IF;
    condition := pgblend._join_conditions(group_conditions, true);
END;
$function$;
