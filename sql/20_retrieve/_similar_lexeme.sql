-- _similar_lexeme: the caller's indexed lexemes that are similar to the text in the session's
-- parameter pgblend.fuzzy_lexeme, by pg_trgm.similarity_threshold.
-- It reads vocabulary as its owner and asks itself which collections the caller may read. Operator
-- % is not leakproof: row security would keep it from the trigram index. A security barrier: no
-- condition of the caller's sees a row before. The parameter is no secret and grants nothing.
CREATE OR REPLACE VIEW pgblend._similar_lexeme WITH (security_barrier = true) AS
SELECT
    v.collection_id,  -- The collection.
    v.text_search_config,  -- The language.
    v.lexeme,  -- The lexeme.
    -- Shared trigrams over all trigrams.
    similarity(v.lexeme, current_setting('pgblend.fuzzy_lexeme', true)) AS likeness
FROM pgblend_data.vocabulary AS v
WHERE
    v.lexeme % current_setting('pgblend.fuzzy_lexeme', true)
    AND (
        (SELECT pg_has_role('pgblend_admin', 'USAGE'))
        OR v.collection_id IN (
            SELECT g.collection_id
            FROM pgblend_data.collection_grant AS g
            INNER JOIN pg_catalog.pg_roles AS r ON g.role_name = r.rolname
            WHERE
                pg_has_role(r.oid, 'USAGE')
                AND (
                    g.role_oid = r.oid
                    OR g.made_in <> (SELECT s.system_identifier FROM pg_control_system() AS s)
                )
        )
    );
