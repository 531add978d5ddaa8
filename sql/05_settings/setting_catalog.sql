-- setting_catalog: every setting and search option, with its type, default, range and meaning.
-- The one place where a setting is declared: checking, resolving and documentation all read it.
-- Scopes: a 'search' setting may be given per call, collection and profile and for the whole
-- database; a 'collection' setting per collection and for the database; a 'server' setting for the
-- database only. For an object, allowed_values are its keys and the range holds for each value.
CREATE OR REPLACE FUNCTION pgblend.setting_catalog()
RETURNS TABLE (
    name text,
    scope text,
    value_type text,
    default_value jsonb,
    minimum double precision,
    maximum double precision,
    allowed_values text[],
    description text
)
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
ROWS 30
BEGIN ATOMIC
    SELECT v.*
    FROM (
        VALUES
        ('b', 'search', 'number', '0.75'::jsonb, 0, 1, NULL::text[],
            'BM25: how much a passage''s length counts.'),
        ('candidate_depth', 'search', 'integer', '100', 1, 10000, NULL,
            'Candidates that each arm gives to fusion; it alone sets the pool, so scores do not '
            'depend on limit or offset.'),
        ('ef_search', 'search', 'integer', '100', 1, 1000, NULL,
            'HNSW: size of the search list; more is slower and more exact.'),
        ('fuzzy', 'search', 'text', '"auto"', NULL, NULL, ARRAY['auto', 'on', 'off'],
            'Whether misspelt and unfinished words are put right: auto where the query has a word '
            'that the searched collections lack.'),
        ('heading_weight', 'search', 'number', '2', 0, 100, NULL,
            'BM25F: how many times a word in a heading counts; the length counts it once.'),
        ('k1', 'search', 'number', '1.2', 0, 100, NULL,
            'BM25: how soon repeated words stop counting.'),
        ('language', 'search', 'text_search_config', 'null', NULL, NULL, NULL,
            'Search only documents of this text search configuration (pg_ts_config).'),
        ('min_relevance', 'search', 'number', 'null', -1, 1, NULL,
            'Leave out rows below this relevance; rows without one as well.'),
        ('min_score', 'search', 'number', '0', 0, 1, NULL,
            'Leave out rows below this score.'),
        ('offset', 'search', 'integer', '0', 0, 10000, NULL,
            'Rows to skip, for pages.'),
        ('rrf_k', 'search', 'number', '60', 0, 100000, NULL,
            'Reciprocal rank fusion: the constant added to each rank.'),
        ('strict', 'search', 'boolean', 'false', NULL, NULL, NULL,
            'Fail instead of going on without an arm.'),
        ('timeouts_ms', 'search', 'object', '{"embed": 2000, "lexical": 250, "total": 10000}', 1,
            600000, ARRAY['embed', 'lexical', 'total'],
            'Milliseconds that a stage may wait for a model, that the words'' arm may take, and '
            'that all may together.'),
        ('title_weight', 'search', 'number', '3', 0, 100, NULL,
            'BM25F: how many times a word in the title counts; the length counts it once.'),
        ('vector_scan', 'search', 'text', '"auto"', NULL, NULL, ARRAY['auto', 'index', 'exact'],
            'How vectors are searched: by the HNSW index, by comparing all, or as fits.'),
        ('weights', 'search', 'object', '{"fuzzy": 1, "vector": 1, "lexical": 1}',
            0, 1000000, ARRAY['fuzzy', 'lexical', 'vector'],
            'Weight of each arm in fusion; an arm of weight 0 is not run. Where the fuzzy arm put '
            'a word right, the lexical one counts an eighth.'),
        ('chunk_overlap_tokens', 'collection', 'integer', '80', 0, 10000, NULL,
            'Tokens that a chunk repeats from the one before.'),
        ('chunk_size_tokens', 'collection', 'integer', '400', 8, 100000, NULL,
            'Most tokens of a chunk.'),
        ('embedding_prefix', 'collection', 'text', '"title"', NULL, NULL, ARRAY['title', 'none'],
            'What goes before a chunk''s text when it is embedded: title gives '
            '"title: … | text: …", none nothing.'),
        ('min_chunk_size_tokens', 'collection', 'integer', '40', 0, 100000, NULL,
            'A smaller piece is joined to its neighbour.'),
        ('default_profile', 'server', 'profile', '"balanced"', NULL, NULL, NULL,
            'Profile of a search that names none.'),
        ('embedding_model', 'server', 'text', '"local/all-minilm-l6-v2"', NULL, NULL, NULL,
            'Model that the first embedding space is made with.'),
        ('gateway_url', 'server', 'url', 'null', NULL, NULL, NULL,
            'Where the model gateway listens: http://host:port or unix:/path.')
    ) AS v (
        name, scope, value_type, default_value, minimum, maximum, allowed_values, description
    );
END;

COMMENT ON FUNCTION pgblend.setting_catalog() IS
'Every setting and search option, with its type, default, range and meaning. Scopes: search (per '
'call, collection, profile and database), collection, server.';
