-- _tsvector_document_score: BM25 of the documents of one text search configuration that have any of
-- the lexemes, each with its best chunk; for servers without numpy.
-- A document's frequencies and length are those of its chunks after own_position; else as in
-- _tsvector_score. The best chunk is that of plpy/lexical/documents.py which passes the filter.
-- Statistics are arguments and never read here. At most `depth` rows, best first, ties by document.
CREATE OR REPLACE FUNCTION pgblend._tsvector_document_score(
    collection_ids bigint[],
    config_name text,
    lexemes text[],
    alternatives bigint[],
    operands tsquery[],
    excluded boolean[],
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
    WITH term AS (
        SELECT u.*
        FROM unnest(_tsvector_document_score.lexemes, _tsvector_document_score.idf)
            AS u (lexeme, idf)
    ),

    posting AS MATERIALIZED (
        SELECT
            c.id,
            c.document_id,
            c.chunk_index,
            l.lexeme,
            t.idf,
            occurrence.*
        FROM pgblend_data.chunk AS c
        CROSS JOIN LATERAL unnest(c.lexemes) AS l
        INNER JOIN term AS t ON l.lexeme = t.lexeme
        CROSS JOIN LATERAL (
            SELECT
                count(*) FILTER (WHERE o.weight = 'A' AND o.place > c.own_position) AS own_title,
                count(*) FILTER (WHERE o.weight = 'B' AND o.place > c.own_position) AS own_heading,
                CASE
                    WHEN l.lexeme LIKE '=%' THEN 255
                    ELSE count(*) FILTER (WHERE o.weight = 'D' AND o.place > c.own_position)
                END AS own_body,
                CASE
                    WHEN l.lexeme LIKE '=%' THEN 255 * field_weights[3]
                    ELSE sum(CASE o.weight
                        WHEN 'A' THEN field_weights[1] WHEN 'B' THEN field_weights[2]
                        ELSE field_weights[3]
                    END)
                END AS tf
            FROM unnest(l.positions, l.weights) AS o (place, weight)
        ) AS occurrence
        WHERE
            c.collection_id = ANY(collection_ids)
            AND c.text_search_config = config_name
            AND c.lexemes @@ pgblend._lexeme_tsquery(_tsvector_document_score.lexemes)
    ),

    scored AS (
        SELECT
            f.document_id,
            sum(
                f.idf * f.tf * (k1 + 1)
                / (f.tf + k1 * (1 - b + b * (
                    SELECT sum(own.own_length) FROM pgblend_data.chunk AS own
                    WHERE own.document_id = f.document_id
                ) / average_length))
                ORDER BY f.lexeme COLLATE "C"
            ) AS score
        FROM (
            SELECT
                p.document_id,
                p.lexeme,
                p.idf,
                field_weights[1] * sum(p.own_title) + field_weights[2] * sum(p.own_heading)
                + field_weights[3] * sum(p.own_body) AS tf
            FROM posting AS p
            GROUP BY p.document_id, p.lexeme, p.idf
        ) AS f
        WHERE f.tf > 0
        GROUP BY f.document_id
    ),

    best_chunk AS (
        SELECT DISTINCT ON (p.document_id)
            p.id,
            p.document_id,
            p.chunk_index
        FROM posting AS p
        WHERE
            p.tf > 0
            AND (
                filter IS NULL
                OR p.id IN (SELECT unnest(pgblend._filter_chunks(filter, collection_ids, NULL)))
            )
        GROUP BY p.document_id, p.id, p.chunk_index
        ORDER BY
            p.document_id ASC,
            sum(p.idf * p.tf * (k1 + 1) / (p.tf + k1) ORDER BY p.lexeme COLLATE "C") DESC,
            p.chunk_index ASC
    )

    SELECT
        c.id,
        s.document_id,
        c.chunk_index,
        s.score
    FROM scored AS s
    INNER JOIN best_chunk AS c ON s.document_id = c.document_id
    WHERE pgblend._document_passes(
        s.document_id, alternatives, operands, _tsvector_document_score.excluded
    )
    ORDER BY s.score DESC, s.document_id ASC
    LIMIT depth;
END;
