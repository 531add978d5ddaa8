-- _language_idf: inverse document frequencies where several text search configurations are
-- searched.
-- A word's share of the passages is that within its own language, drawn towards its share of all
-- by 100 passages: a word in 100 of 240 German passages is no rarer among 10,000 others. It stands
-- for df in _bm25_idf; with one language it is df. Of two translations of a passage the one in the
-- query's language is meant: a language's idf is times the square root of the share of the query's
-- lexemes that it has, over the largest such share. Arrays are parallel; statistics of the lexemes'
-- own languages are language_n and language_frequencies.
CREATE OR REPLACE FUNCTION pgblend._language_idf(
    config_names text[],
    n bigint,
    document_frequencies bigint[],
    language_n bigint[],
    language_frequencies bigint[]
)
RETURNS double precision[]
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH lexeme AS (
        SELECT
            u.*,
            CASE
                WHEN u.language_n = _language_idf.n THEN u.df
                ELSE
                    (u.language_df + 100 * u.df / _language_idf.n::double precision)
                    / (u.language_n + 100) * _language_idf.n
            END AS expected_df,
            avg((u.language_df > 0)::integer) OVER (PARTITION BY u.config_name) AS known
        FROM unnest(config_names, document_frequencies, language_n, language_frequencies)
            WITH ORDINALITY AS u (config_name, df, language_n, language_df, place)
    ),

    weighed AS (
        SELECT
            l.*,
            coalesce(sqrt((l.known / nullif(max(l.known) OVER (), 0))::double precision), 1)
                AS weight
        FROM lexeme AS l
    )

    SELECT coalesce(array_agg(
        w.weight
        * ln(1::double precision + (_language_idf.n - w.expected_df + 0.5) / (w.expected_df + 0.5))
        ORDER BY w.place
    ), '{}')
    FROM weighed AS w;
END;
