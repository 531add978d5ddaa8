-- _tsvector_score: BM25 of the passages of one text search configuration that have any of the
-- lexemes.
-- score = Σ idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average length)); tf counts
-- occurrences in title, headings and body by their field_weights (BM25F), while the length counts
-- each as one; an identifier ("=…") counts as if it stood 255 times in the body. Summed in the
-- lexemes' byte order, so that the same passage gets the same bits everywhere. Statistics are
-- arguments and never read here; idf is per lexeme, in their order. At most `depth` rows, best
-- first, ties by (document, chunk index).
CREATE OR REPLACE FUNCTION pgblend._tsvector_score(
    collection_ids bigint[],
    config_name text,
    lexemes text[],
    condition tsquery,
    idf double precision[],
    average_length double precision,
    k1 double precision,
    b double precision,
    field_weights double precision[],
    filter jsonb,
    depth integer
)
RETURNS TABLE (
    chunk_id bigint,
    document_id bigint,
    chunk_index integer,
    score double precision
)
LANGUAGE sql
STABLE PARALLEL UNSAFE
ROWS 100
BEGIN ATOMIC
    SELECT
        c.id,
        c.document_id,
        c.chunk_index,
        sum(
            term.idf * term.tf * (k1 + 1)
            / (term.tf + k1 * (1 - b + b * c.length / average_length))
            ORDER BY term.lexeme COLLATE "C"
        ) AS score
    FROM pgblend_data.chunk AS c
    CROSS JOIN LATERAL (
        SELECT
            posting.lexeme,
            CASE
                WHEN posting.lexeme LIKE '=%' THEN 255 * field_weights[3]
                ELSE (
                    SELECT sum(CASE p.weight
                        WHEN 'A' THEN field_weights[1] WHEN 'B' THEN field_weights[2]
                        ELSE field_weights[3]
                    END)
                    FROM unnest(posting.weights) AS p (weight)
                )
            END AS tf,
            _tsvector_score.idf[array_position(_tsvector_score.lexemes, posting.lexeme)] AS idf
        FROM unnest(c.lexemes) AS posting
        WHERE posting.lexeme = ANY(_tsvector_score.lexemes)
    ) AS term
    WHERE
        term.tf > 0
        AND c.collection_id = ANY(collection_ids)
        AND c.text_search_config = config_name
        AND c.lexemes @@ pgblend._lexeme_tsquery(_tsvector_score.lexemes)
        AND (condition IS NULL OR c.lexemes @@ condition)
        AND (
            filter IS NULL
            OR c.id IN (SELECT unnest(pgblend._filter_chunks(filter, collection_ids, NULL)))
        )
    GROUP BY c.id
    ORDER BY score DESC, c.document_id ASC, c.chunk_index ASC
    LIMIT depth;
END;
