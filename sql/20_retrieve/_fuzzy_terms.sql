-- _fuzzy_terms: what the fuzzy arm looks for: [{config_name, lexemes, idf, total, average_length,
-- condition, corrections}], one object a text search configuration.
-- A correction's idf is times its likelihood, (df + 1)^0.4 · e^(-3 · cost), over that of the
-- likeliest, and that of the most frequent one at most: a rare word is no better guess. A word
-- misspelt in several ways counts as one that is repeated (_parse_query). NULL where
-- there is nothing to do: no lexeme is unknown or none stands for another (unless the setting fuzzy
-- is 'on'), or there are no chunks. idf and df are those of a lexeme's own language (_query_idf,
-- which `reading` and deadline are for). Of many unknown lexemes of a configuration, 64 are looked
-- at.
CREATE OR REPLACE FUNCTION pgblend._fuzzy_terms(
    query text,
    collection_ids bigint[],
    settings jsonb,
    deadline double precision,
    reading uuid
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $function$
#variable_conflict use_column
DECLARE
    terms record := pgblend._query_terms(query, collection_ids, settings ->> 'language');
    parsed jsonb;
    guesses jsonb;
    vocabulary text[];
    vocabulary_configs text[];
    statistics record;
BEGIN
    SELECT jsonb_agg(jsonb_build_object(
        'config_name', p.config_name,
        'lexemes', terms.lexemes[p.before + 1:p.last],
        'boosts', terms.boosts[p.before + 1:p.last],
        'condition', p.condition,
        'unknown', ARRAY(
            SELECT u.lexeme
            FROM unnest(terms.lexemes[p.before + 1:p.last]) AS u (lexeme)
            WHERE u.lexeme !~ '^=' AND (  -- an identifier is exact
                SELECT true FROM pgblend_data.vocabulary AS v
                WHERE v.collection_id = ANY(collection_ids)
                    AND v.text_search_config = p.config_name
                    AND v.lexeme BETWEEN u.lexeme AND u.lexeme  -- not by the trigram index
                LIMIT 1) IS NULL  -- one look into the index each, analyzed or not
            LIMIT 64)))
    INTO parsed
    FROM unnest(
        terms.configs, terms.conditions, terms.ends[:cardinality(terms.configs)], terms.ends[2:])
        AS p (config_name, condition, before, last)
    WHERE p.last > p.before;
    IF parsed IS NULL OR settings ->> 'fuzzy' <> 'on' AND NOT EXISTS (
        SELECT FROM jsonb_array_elements(parsed) AS e WHERE e -> 'unknown' <> '[]')
    THEN
        RETURN NULL;
    END IF;
    SELECT jsonb_agg(jsonb_build_object(
        'config_name', e.config_name, 'lexeme', s.lexeme, 'guess', s.candidate, 'cost', s.cost))
    INTO guesses
    FROM jsonb_to_recordset(parsed) AS e (config_name text, unknown text[])
    CROSS JOIN LATERAL pgblend._similar_lexemes(
        collection_ids, e.config_name,
        pgblend._words_of_lexemes(query, e.config_name, e.unknown),
        e.unknown,
        reading
    ) AS s;
    PERFORM pgblend._check_deadline(deadline);
    IF guesses IS NULL AND settings ->> 'fuzzy' <> 'on' THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(v.config_name), array_agg(v.lexeme) INTO vocabulary_configs, vocabulary
    FROM (
        SELECT g.config_name, g.guess AS lexeme
        FROM jsonb_to_recordset(guesses) AS g (config_name text, guess text)
        UNION
        SELECT e.config_name, lexeme
        FROM jsonb_to_recordset(parsed) AS e (config_name text, lexemes text[])
        CROSS JOIN unnest(e.lexemes) AS lexeme
    ) AS v;
    statistics := pgblend._query_idf(
        collection_ids, vocabulary_configs, vocabulary, false, deadline, reading);
    IF statistics.total_length = 0 THEN
        RETURN NULL;
    END IF;
    RETURN (
        WITH frequency AS (
            SELECT u.*
            FROM unnest(
                vocabulary_configs, vocabulary, statistics.document_frequencies, statistics.idf)
                AS u (config_name, lexeme, df, idf)
        ),

        likely AS (
            SELECT
                g.*,
                f.idf,
                (f.df + 1) ^ 0.4 * exp(-3 * g.cost) AS likelihood
            FROM jsonb_to_recordset(guesses) AS g (
                config_name text, lexeme text, guess text, cost double precision)
            INNER JOIN frequency AS f ON f.config_name = g.config_name AND f.lexeme = g.guess
            WHERE f.df > 0
        ),

        weighed AS (
            SELECT
                l.*,
                l.likelihood / max(l.likelihood) OVER word AS weight,
                min(l.idf) OVER word AS least_idf,
                row_number() OVER (word ORDER BY l.likelihood DESC, l.guess COLLATE "C") AS place
            FROM likely AS l
            WINDOW word AS (PARTITION BY l.config_name, l.lexeme)
        ),

        chosen AS (
            SELECT w.* FROM weighed AS w WHERE w.place <= 3 AND w.weight >= 0.05
        ),

        term AS (
            SELECT
                t.config_name,
                t.lexeme COLLATE "C" AS lexeme,
                11 * sum(t.idf) / (10 + coalesce(sum(t.idf) / nullif(max(t.idf), 0), 1)) AS idf
            FROM (
                SELECT c.config_name, c.guess AS lexeme,
                    c.weight * c.least_idf AS idf
                FROM chosen AS c
                UNION ALL
                SELECT e.config_name, f.lexeme, known.boost * f.idf
                FROM jsonb_to_recordset(parsed) AS e (
                    config_name text, lexemes text[], boosts double precision[])
                CROSS JOIN LATERAL unnest(e.lexemes, e.boosts) AS known (lexeme, boost)
                INNER JOIN frequency AS f
                    ON f.config_name = e.config_name AND f.lexeme = known.lexeme
                WHERE NOT EXISTS (
                    SELECT FROM chosen AS c
                    WHERE c.config_name = e.config_name AND c.lexeme = known.lexeme
                )
            ) AS t
            GROUP BY t.config_name, t.lexeme COLLATE "C"
        )

        SELECT jsonb_agg(of_config)
        FROM (
            SELECT
                t.config_name,
                array_agg(t.lexeme ORDER BY t.lexeme) AS lexemes,
                array_agg(t.idf ORDER BY t.lexeme) AS idf,
                sum(t.idf) AS total,
                statistics.total_length::double precision / statistics.n AS average_length,
                (
                    SELECT e.condition
                    FROM jsonb_to_recordset(parsed) AS e (config_name text, condition tsquery)
                    WHERE e.config_name = t.config_name
                ) AS condition,
                (
                    SELECT jsonb_object_agg(c.lexeme, c.guesses)
                    FROM (
                        SELECT c.lexeme, jsonb_agg(c.guess ORDER BY c.place) AS guesses
                        FROM chosen AS c
                        WHERE c.config_name = t.config_name
                        GROUP BY c.lexeme
                    ) AS c
                ) AS corrections
            FROM term AS t
            GROUP BY t.config_name
        ) AS of_config
    );
END;
$function$;
