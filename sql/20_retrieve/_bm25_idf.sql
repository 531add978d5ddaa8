-- _bm25_idf: inverse document frequency as Lucene has it: ln(1 + (n - df + 0.5) / (df + 0.5)),
-- above 0.
CREATE OR REPLACE FUNCTION pgblend._bm25_idf(n bigint, document_frequency bigint)
RETURNS double precision
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN ln(
    1 + (n - document_frequency + 0.5::double precision)
    / (document_frequency + 0.5::double precision)
);
