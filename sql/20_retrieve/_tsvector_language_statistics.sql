-- _tsvector_language_statistics: what _language_statistics says, from tsvectors.
CREATE OR REPLACE FUNCTION pgblend._tsvector_language_statistics(
    collection_ids bigint[],
    config_names text[],
    lexemes text[],
    by_document boolean,
    OUT n bigint[],
    OUT document_frequencies bigint[]
)
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH language AS MATERIALIZED (
        SELECT
            c.text_search_config,
            CASE WHEN by_document THEN count(DISTINCT c.document_id) ELSE count(*) END AS n
        FROM pgblend_data.chunk AS c
        WHERE c.collection_id = ANY(collection_ids)
        GROUP BY c.text_search_config
    )

    SELECT
        array_agg(coalesce(g.n, 0) ORDER BY l.place) AS n,
        array_agg((
            SELECT CASE WHEN by_document THEN count(DISTINCT c.document_id) ELSE count(*) END
            FROM pgblend_data.chunk AS c
            WHERE
                c.collection_id = ANY(collection_ids)
                AND c.text_search_config = l.config_name
                AND c.lexemes @@ pgblend._lexeme_tsquery(ARRAY[l.lexeme])
        ) ORDER BY l.place) AS document_frequencies
    FROM unnest(config_names, lexemes) WITH ORDINALITY AS l (config_name, lexeme, place)
    LEFT JOIN language AS g ON l.config_name = g.text_search_config;
END;
