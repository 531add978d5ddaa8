-- _storages: what an embedding space of so many chunks takes in each storage, the quickest to
-- search first (by most_dimensions): bytes of its table and of its indexes, bytes of memory and
-- seconds of one process to build the HNSW index; fits where "auto" may choose it.
-- Sizes follow from the pages of pgvector 0.8 (m = 16). Memory and seconds were measured
-- (tests/benchmarks/NOTES.md). A storage fits where it has room for the dimensions, and the
-- index of vector in half of shared_buffers, of halfvec in half of effective_cache_size.
-- dimensions beyond most_dimensions get figures all the same; NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._storages(chunks bigint, dimensions integer)
RETURNS TABLE (
    storage text,
    most_dimensions integer,
    table_bytes bigint,
    index_bytes bigint,
    build_bytes bigint,
    build_seconds double precision,
    fits boolean
)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 3
BEGIN ATOMIC
    WITH vectors AS (
        SELECT
            s.*,
            8 + s.stored_bytes * dimensions AS stored,
            8 + ceil(s.indexed_bytes * dimensions) AS indexed
        FROM (VALUES
            ('vector', 2000, 4, 4, 3e-4, 1.15e-6,
                pg_size_bytes(current_setting('shared_buffers')) / 2),
            ('halfvec', 4000, 2, 2, 3e-4, 8.5e-7,
                pg_size_bytes(current_setting('effective_cache_size')) / 2),
            ('binary', 16000, 2, 0.125, 4.5e-4, 0, NULL)
        ) AS s (
            storage, most_dimensions, stored_bytes, indexed_bytes, seconds, dimension_seconds,
            memory)
    ),

    figures AS (
        SELECT
            v.*,
            -- Rows of a page of 8160 bytes; a vector that fits into none lies outside, in pieces.
            chunks * (CASE
                WHEN v.stored > 8008 THEN 84 + 1.04 * v.stored
                ELSE 8192 / floor(8160.0 / (60 + v.stored)) END) AS table_bytes,
            chunks * (29 + 8192 / greatest(floor(8160 / (280 + v.indexed)), 1)) AS index_bytes
        FROM vectors AS v
    )

    SELECT
        f.storage,
        f.most_dimensions,
        f.table_bytes::bigint,
        f.index_bytes::bigint,
        (chunks * (772 + f.indexed))::bigint AS build_bytes,
        -- Of 8,000 vectors; longer with the logarithm of their number.
        chunks * (f.seconds + f.dimension_seconds * dimensions)::double precision
        * (1 + 0.27 * ln(greatest(chunks / 8000.0, 1)))::double precision AS build_seconds,
        dimensions <= f.most_dimensions AND coalesce(f.index_bytes <= f.memory, true) AS fits
    FROM figures AS f
    ORDER BY f.most_dimensions;
END;
