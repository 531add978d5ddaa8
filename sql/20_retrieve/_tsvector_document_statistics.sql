-- _tsvector_document_statistics: what BM25 of whole documents needs to know of the collections:
-- exact integers, from visible rows only.
-- n documents that have chunks, their total length in lexeme occurrences (what chunks repeat counts
-- once), and per lexeme the number of documents that have it, in the order of the lexemes.
CREATE OR REPLACE FUNCTION pgblend._tsvector_document_statistics(
    collection_ids bigint[],
    lexemes text[],
    OUT n bigint,
    OUT total_length bigint,
    OUT document_frequencies bigint[]
)
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        count(DISTINCT c.document_id) AS n,
        coalesce(sum(c.own_length), 0)::bigint AS total_length,
        ARRAY(
            SELECT (
                SELECT count(DISTINCT containing.document_id)
                FROM pgblend_data.chunk AS containing
                WHERE
                    containing.collection_id = ANY(collection_ids)
                    AND containing.lexemes @@ pgblend._lexeme_tsquery(ARRAY[l.lexeme])
            )
            FROM unnest(_tsvector_document_statistics.lexemes)
                WITH ORDINALITY AS l (lexeme, place)
            ORDER BY l.place
        ) AS document_frequencies
    FROM pgblend_data.chunk AS c
    WHERE c.collection_id = ANY(collection_ids);
END;
