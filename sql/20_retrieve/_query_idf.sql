-- _query_idf: inverse document frequencies of lexemes, and what else BM25 needs to know of the
-- collections.
-- n chunks, or documents, and their total length; the share of those that have a lexeme counts
-- within its own text search configuration where there are several (_language_idf). A document's
-- name ("==…") counts as if one passage had it, and as nothing where none has (lexeme_idf.py).
-- `reading` is that of _lexical_statistics. PB009 where the deadline is over.
CREATE OR REPLACE FUNCTION pgblend._query_idf(
    collection_ids bigint[],
    lexeme_configs text[],
    lexemes text[],
    by_document boolean,
    deadline double precision,
    reading uuid,
    OUT n bigint,
    OUT total_length bigint,
    OUT document_frequencies bigint[],
    OUT idf double precision[]
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $function$
DECLARE
    has_numpy boolean := pgblend._has_numpy();
    statistics record;
    of_language record;
BEGIN
    IF has_numpy AND by_document THEN
        statistics := pgblend._document_statistics(collection_ids, lexemes, deadline, reading);
    ELSIF has_numpy THEN
        statistics := pgblend._lexical_statistics(collection_ids, lexemes, deadline, reading);
    ELSIF by_document THEN
        statistics := pgblend._tsvector_document_statistics(collection_ids, lexemes);
    ELSE
        statistics := pgblend._tsvector_statistics(collection_ids, lexemes);
    END IF;
    PERFORM pgblend._check_deadline(deadline);
    n := statistics.n;
    total_length := statistics.total_length;
    document_frequencies := statistics.document_frequencies;
    IF lexeme_configs[1] = ALL(lexeme_configs) THEN
        idf := ARRAY(
            SELECT pgblend._bm25_idf(statistics.n, u.df)
            FROM unnest(document_frequencies) WITH ORDINALITY AS u (df, place)
            ORDER BY u.place);
    ELSE
        IF has_numpy THEN
            of_language := pgblend._language_statistics(
                collection_ids, lexeme_configs, lexemes, by_document, deadline, reading);
        ELSE
            of_language := pgblend._tsvector_language_statistics(
                collection_ids, lexeme_configs, lexemes, by_document);
        END IF;
        document_frequencies := of_language.document_frequencies;
        idf := pgblend._language_idf(
            lexeme_configs, n, statistics.document_frequencies, of_language.n,
            ARRAY(  -- a name says nothing of the query's language
                SELECT CASE WHEN u.lexeme NOT LIKE '==%' THEN u.df END
                FROM unnest(lexemes, document_frequencies) WITH ORDINALITY AS u (lexeme, df, place)
                ORDER BY u.place));
    END IF;
    idf := ARRAY(
        SELECT CASE
            WHEN u.lexeme NOT LIKE '==%' THEN u.idf
            WHEN u.df > 0 THEN pgblend._bm25_idf(statistics.n, 1)
            ELSE 0
        END
        FROM unnest(lexemes, document_frequencies, idf)
            WITH ORDINALITY AS u (lexeme, df, idf, place)
        ORDER BY u.place);
END;
$function$;
