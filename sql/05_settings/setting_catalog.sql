-- setting_catalog: every setting and search option, with its type, default, range and meaning.
-- The one place where a setting is declared: checking, resolving and documentation all read it.
-- Scopes: a 'search' setting may be given per call, collection and profile and for the whole
-- database; a 'collection' setting per collection and for the database; a 'server' setting for the
-- database only. For an object, allowed_values are its keys and the range holds for each value; of
-- type numbers one value may stand for all. The types blend, bonus, expansion, feedback, graph, mmr
-- and normalization are described by _setting_schema; a switch may be a boolean. Objects are merged
-- key by key, but for those with a key "kind", which are wholes.
CREATE OR REPLACE FUNCTION blend.setting_catalog()
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
ROWS 50
BEGIN ATOMIC
    SELECT v.*
    FROM (
        VALUES
        ('after', 'search', 'object', '{}'::jsonb, 0, 9223372036854775807,
            ARRAY['chunk_index', 'depth', 'document_id', 'score'],
            'Rows after this one, for pages: details -> ''cursor'' of the last row of the page '
            'before. Its depth is the candidate_depth of the first page, and holds for all.'),
        ('answer_tokens', 'search', 'integer', '500', 1, 100000, NULL,
            'Most tokens of an answer (ask).'),
        ('b', 'search', 'number', '0.75', 0, 1, NULL,
            'BM25: how much a passage''s length counts.'),
        (
            'blend', 'search', 'blend',
            '{"kind": "tiers", "tiers": [
                {"max_rank": 3, "fused": 0.75, "rerank": 0.25},
                {"max_rank": 10, "fused": 0.6, "rerank": 0.4},
                {"max_rank": null, "fused": 0.4, "rerank": 0.6}
            ]}', NULL, NULL, NULL,
            'How fused and rerank scores are blended: by tiers of the fused rank, or (kind '
            'position) with 1 - (rank - 1) / n as a third part. Weights count by their share.'
        ),
        ('bonus', 'search', 'bonus', '{"kind": "none"}', NULL, NULL, NULL,
            'Bonus for high ranks: none, both_top (first depth of two lists) or tiers (by the best '
            'rank in any list, once); unit absolute, or attainable: a fraction of the best sum.'),
        ('candidate_depth', 'search', 'integer', '100', 1, 10000, NULL,
            'Candidates that each arm gives to fusion; it alone sets the pool, so scores do not '
            'depend on limit or offset.'),
        ('context_chars', 'search', 'numbers', '{"after": 0, "before": 0}', 0, 20000,
            ARRAY['after', 'before'],
            'Characters of its document that context_before and context_after give of what stands '
            'around a passage, and that a context puts around it; a number, such as 500, means '
            'both sides.'),
        ('context_order', 'search', 'text', '"score"', NULL, NULL,
            ARRAY['score', 'structure', 'document'],
            'Order of the parts of a context: by score, then structure (signature, code, doc, '
            'metadata); by structure, then score; or document by document as they were written, '
            'the best first.'),
        ('dedup', 'search', 'text', '"exact"', NULL, NULL, ARRAY['off', 'exact', 'overlap', 'near'],
            'Which repetitions of a better row are left out: the same content; overlap: also '
            'spans of one document that overlap; near: also texts that are almost the same.'),
        ('dedup_overlap', 'search', 'number', '0.5', 0.01, 1, NULL,
            'Spans overlap from this share of the shorter one on.'),
        ('dedup_similarity', 'search', 'number', '0.8', 0.01, 1, NULL,
            'Texts are almost the same from this Jaccard index of their three-word runs on.'),
        ('ef_search', 'search', 'integer', 'null', 1, 1000, NULL,
            'HNSW: size of the search list; more is slower and more exact; null: as the space was '
            'tuned (tune_embedding_space), else 100. At least as many are used as candidates are '
            'asked for: fewer would take a second walk.'),
        ('expand', 'search', 'switch', '"auto"', NULL, NULL, ARRAY['auto', 'on', 'off'],
            'Whether a model expands the query: auto by the mode (thorough does). Skipped where '
            'the words alone have found the answer (strong_signal).'),
        ('expansion', 'search', 'expansion', '{}', NULL, NULL, NULL,
            'An expansion of the query to use in place of a model''s: lexicalQueries, '
            'vectorQueries and hyde, as expand_query gives them; embeddings has a vector for each '
            'vector query and then one for hyde, else the gateway is asked for them.'),
        ('feedback', 'search', 'feedback', '{"passages": 0, "weight": 0.5}', NULL, NULL, NULL,
            'Pseudo-relevance feedback in convex fusion: the query''s vector is moved by weight '
            'towards the mean of the first passages, and all candidates are fused anew by their '
            'cosines to it; 0 passages is off.'),
        ('fused_scale', 'search', 'text', '"attainable"', NULL, NULL,
            ARRAY['attainable', 'minmax', 'raw'],
            'Scale of the fused score that blending and MMR see: over what a perfect match would '
            'get, minmax over the candidates, or raw as summed.'),
        ('fusion', 'search', 'text', '"rrf"', NULL, NULL, ARRAY['rrf', 'convex'],
            'How the arms are fused: by reciprocal ranks, or by normalised scores.'),
        ('fuzzy', 'search', 'text', '"auto"', NULL, NULL, ARRAY['auto', 'on', 'off'],
            'Whether misspelt and unfinished words are put right: auto where the query has a word '
            'that the searched collections lack.'),
        ('fuzzy_method', 'search', 'text', '"vocabulary"', NULL, NULL,
            ARRAY['vocabulary', 'word_similarity'],
            'How the fuzzy arm finds: words put right by the vocabulary, or word_similarity of '
            'query and content from 0.3 on, which reads every content.'),
        (
            'graph', 'search', 'graph',
            '{"weight": 0, "depth": 1, "direction": "both", "edge_types": null, "seeds": 10,
            "node_limit": 1000, "combine": "fused"}', NULL, NULL, NULL,
            'Passages that the graph leads to from the first seeds of what the other lists gave: '
            'weight is what that list counts against all others together (0: off), depth the '
            'steps, direction out, in or both, edge_types which edges (null: all), node_limit the '
            'most nodes. combine sum is cosine + weight / (1 + depth), from all candidates.'
        ),
        ('heading_weight', 'search', 'number', '2', 0, 100, NULL,
            'BM25F: how many times a word in a heading counts; the length counts it once.'),
        ('hyde', 'search', 'text', '"list"', NULL, NULL, ARRAY['list', 'query'],
            'What a hypothetical answer (HyDE) is for: a list of its own beside other variants of '
            'an expanded query; or query: it alone is asked for, and is joined to the query for '
            'the vectors'' arm.'),
        ('k1', 'search', 'number', '1.2', 0, 100, NULL,
            'BM25: how soon repeated words stop counting.'),
        ('language', 'search', 'text_search_config', 'null', NULL, NULL, NULL,
            'Search only documents of this text search configuration (pg_ts_config); zh, ja, ko, '
            'th, lo, km and my are pgblend''s own.'),
        ('level', 'search', 'text', '"chunk"', NULL, NULL, ARRAY['chunk', 'document'],
            'What the words rank: passages, or whole documents, each shown by its best passage.'),
        ('lexical_method', 'search', 'text', '"bm25"', NULL, NULL, ARRAY['bm25', 'ts_rank_cd'],
            'How words rank: BM25 of passages that have any of them; or ts_rank_cd of those that '
            'have all (websearch_to_tsquery), which reads tsvectors.'),
        ('max_file_tokens', 'search', 'integer', 'null', 1, 10000000, NULL,
            'Most tokens (cl100k_base) of one document in a context.'),
        ('max_part_tokens', 'search', 'integer', 'null', 1, 10000000, NULL,
            'Most tokens of one part of a context; a longer passage is cut.'),
        ('max_tokens', 'search', 'integer', '4000', 1, 10000000, NULL,
            'Most tokens of a context.'),
        ('min_relevance', 'search', 'number', 'null', -1, 1, NULL,
            'Leave out rows below this relevance; rows without one as well.'),
        ('min_score', 'search', 'number', '0', 0, 1, NULL,
            'Leave out rows below this score.'),
        ('mmr', 'search', 'mmr', '{"lambda": 1, "pool": 50}', NULL, NULL, NULL,
            'Maximal marginal relevance among the first pool rows: lambda weighs the score against '
            'likeness to rows above; 1 is off, 0.7 is usual. Rows keep the score they had, which '
            'then need not fall with rank.'),
        ('mode', 'search', 'text', '"default"', NULL, NULL,
            ARRAY['default', 'fast', 'thorough', 'agent', 'api', 'tool'],
            'What a search may ask models for beside the query''s vector: fast nothing, default to '
            'rerank, thorough also to expand the query; by caller, agent is thorough and gives 500 '
            'characters around each passage (context_chars), api and tool are fast. Where no model '
            'is set, details says so (not_run); a mode given in the call '
            'is then named in degraded as well.'),
        ('normalization', 'search', 'normalization', '{"method": "minmax"}', NULL, NULL, NULL,
            'How convex fusion makes scores comparable: minmax of each list; theoretical: from the '
            'lowest possible to the list''s best; absolute: lowest to highest possible; '
            'zscore, cut at 3; logistic, with center and scale by arm (else the list''s own); '
            'spread: minmax, and a list counts the more, the further apart its scores are.'),
        ('offset', 'search', 'integer', '0', 0, 10000, NULL,
            'Rows to skip, for pages.'),
        ('over_fetch', 'search', 'object', '{"factor": 0}', 0, 10000,
            ARRAY['factor', 'minimum', 'rerank_factor', 'variant_factor'],
            'For literal profiles: candidates of each arm as a multiple of offset + limit in place '
            'of candidate_depth; 0 is off.'),
        ('per_document', 'search', 'integer', 'null', 1, 10000, NULL,
            'Most rows of one document.'),
        ('recency_half_life_days', 'search', 'number', 'null', 0.001, 1000000, NULL,
            'Halve the fused score with each half-life of a document''s age by its date: '
            'modified_at, else metadata''s date, else ingested_at.'),
        ('rerank', 'search', 'switch', '"auto"', NULL, NULL, ARRAY['auto', 'on', 'off'],
            'Whether a model scores the best passages against the query: auto by the mode (default '
            'and thorough do).'),
        ('rerank_depth', 'search', 'integer', '20', 1, 100, NULL,
            'Documents whose best passages are reranked; the rest stay below.'),
        ('rerank_scores', 'search', 'scores', '{}', 0, 1, NULL,
            'Scores to use in place of a rerank model''s: by chunk id, of the passages that '
            'rerank_candidates gives.'),
        ('rescore_factor', 'search', 'number', '4', 1, 1000, NULL,
            'In a binary embedding space: how many passages near by their signs are compared by '
            'their vectors, for each candidate; more is slower and more exact.'),
        ('reserve_tokens', 'search', 'object', '{}', 0, 10000000,
            ARRAY['code', 'doc', 'metadata', 'signature'],
            'Tokens of a context that are kept for passages of a kind, until no more of them are '
            'left.'),
        ('rrf_k', 'search', 'number', '60', 0, 100000, NULL,
            'Reciprocal rank fusion: the constant added to each rank.'),
        ('since', 'search', 'date', 'null', NULL, NULL, NULL,
            'Search only documents of this date or later (see recency_half_life_days); a date or '
            'a timestamp of ISO 8601, without a zone in UTC.'),
        ('space', 'search', 'text', 'null', NULL, NULL, NULL,
            'Embedding space to search in, by its name; null is the active one.'),
        ('strict', 'search', 'boolean', 'false', NULL, NULL, NULL,
            'Fail instead of going on without an arm.'),
        ('strong_signal', 'search', 'object',
            '{"score": 0.5, "gap": 0.14, "center": 0, "scale": 0}', 0, 1000,
            ARRAY['center', 'gap', 'scale', 'score'],
            'When the words alone have found the answer: the best passage has at least score and '
            'is at least gap above the second. BM25 as a share of what no passage can reach; with '
            'a scale above 0 as 1 / (1 + exp(-(BM25 - center) / scale)).'),
        ('timeouts_ms', 'search', 'object',
            '{"answer": 30000, "embed": 2000, "expand": 5000, "lexical": 250, "rerank": 2000,
            "total": 10000}', 1, 600000,
            ARRAY['answer', 'embed', 'expand', 'lexical', 'rerank', 'total'],
            'Milliseconds that a stage may wait for a model, that the words'' arm may take, and '
            'that all stages of a search may together.'),
        ('title_weight', 'search', 'number', '3', 0, 100, NULL,
            'BM25F: how many times a word in the title counts; the length counts it once.'),
        ('until', 'search', 'date', 'null', NULL, NULL, NULL,
            'Search only documents of this date or earlier; the whole day where it has no time.'),
        ('vector_scan', 'search', 'text', '"auto"', NULL, NULL, ARRAY['auto', 'index', 'exact'],
            'How vectors are searched: by the HNSW index, by comparing all, or as fits.'),
        (
            'weights', 'search', 'object',
            '{"fuzzy": 1, "vector": 1, "lexical": 1,
            "hyde": 0.7, "lexical_variant": 0.5, "vector_variant": 0.5}',
            0, 1000000,
            ARRAY['fuzzy', 'hyde', 'lexical', 'lexical_variant', 'vector', 'vector_variant'],
            'Weight of each list in fusion; an arm of weight 0 is not run. Where the fuzzy arm put '
            'a word right, the lexical one counts an eighth. hyde and the variants are lists of an '
            'expanded query.'
        ),
        ('chunk_overlap_tokens', 'collection', 'integer', '80', 0, 10000, NULL,
            'Tokens that a chunk repeats from the one before.'),
        ('chunk_size_tokens', 'collection', 'integer', '400', 8, 100000, NULL,
            'Most tokens of a chunk.'),
        ('embedding_prefix', 'collection', 'text', '"title"', NULL, NULL,
            ARRAY['title', 'summary', 'none'],
            'What goes before a chunk''s text when it is embedded: title gives '
            '"title: … | text: …", summary the document''s summary and a line "---", none '
            'nothing. What a change touches is embedded anew.'),
        ('entities', 'collection', 'boolean', 'false', NULL, NULL, NULL,
            'Whether ingest has the entity_model find entities and relations in passages.'),
        ('mentions', 'collection', 'boolean', 'false', NULL, NULL, NULL,
            'Whether ingest makes edges from documents to those that their text names by title or '
            'alias (link_mentions).'),
        ('min_chunk_size_tokens', 'collection', 'integer', '40', 0, 100000, NULL,
            'A smaller piece is joined to its neighbour.'),
        ('summaries', 'collection', 'boolean', 'false', NULL, NULL, NULL,
            'Whether the model of summary_model sums each document up in two or three sentences; '
            'messages are left out.'),
        ('answer_model', 'server', 'text', 'null', NULL, NULL, NULL,
            'Chat model that answers questions from passages; null: passages only.'),
        ('default_profile', 'server', 'profile', '"balanced"', NULL, NULL, NULL,
            'Profile of a search that names none.'),
        ('embedding_max_attempts', 'server', 'integer', '5', 1, 100, NULL,
            'How often a text that the model refuses is tried before it is a dead letter.'),
        ('embedding_model', 'server', 'text', '"local/all-minilm-l6-v2"', NULL, NULL, NULL,
            'Model that the first embedding space is made with.'),
        ('embedding_retry_seconds', 'server', 'number', '10', 0, 86400, NULL,
            'Seconds until a text that the model refused is tried again; doubled each time.'),
        ('embedding_texts_per_minute', 'server', 'integer', 'null', 1, 1000000000, NULL,
            'Most texts that all workers together send to the model of a space; null is no limit.'),
        ('entity_model', 'server', 'text', 'null', NULL, NULL, NULL,
            'Chat model that finds the things which documents speak of; null: no entities.'),
        ('expansion_model', 'server', 'text', 'null', NULL, NULL, NULL,
            'Chat model that expands queries; null: queries are not expanded.'),
        ('gateway_url', 'server', 'url', 'null', NULL, NULL, NULL,
            'Where the model gateway listens: http://host:port or unix:/path.'),
        (
            'limits', 'server', 'object',
            '{"query_characters": 100000, "query_words": 1000, "query_operators": 200,
            "filter_bytes": 100000, "filter_conditions": 200, "filter_values": 1000,
            "options_bytes": 500000, "array_items": 10000,
            "answer_bytes": 16000000}', 100, 1000000000,
            ARRAY[
                'answer_bytes', 'array_items', 'filter_bytes', 'filter_conditions',
                'filter_values', 'options_bytes', 'query_characters', 'query_operators',
                'query_words'],
            'Most that a call may pass: characters, different words and operators (phrases, '
            'exclusions, or) of a query, bytes of a filter and of options, conditions of a filter '
            'and values of one, items of an array; and most bytes that a gateway may answer.'
        ),
        ('log_address', 'server', 'address', 'null', NULL, NULL, NULL,
            'Where each search is reported, by one datagram: localhost:port, an address in numbers '
            'with a port, or unix:/path; the gateway''s own port where it runs with a database. '
            'null: nowhere.'),
        ('log_queries', 'server', 'text', '"on"', NULL, NULL, ARRAY['on', 'off', 'hash'],
            'Whether the search log has the text of queries, nothing of it, or its sha256; only '
            'admins read the log.'),
        ('model_calls', 'server', 'object', '{"most": 16, "wait_ms": 0}',
            0, 9007199254740991, ARRAY['most', 'wait_ms'],
            'Sessions that call a model at a time: most (0: any number), and how long a call waits '
            'for its turn before its stage is left out.'),
        ('rerank_model', 'server', 'text', 'null', NULL, NULL, NULL,
            'Model that scores passages against the query: a rerank model or, slower, a chat '
            'model; null: passages keep their fused order.'),
        ('summary_model', 'server', 'text', 'null', NULL, NULL, NULL,
            'Chat model that sums documents up at ingest; null: no summaries.'),
        ('vision_model', 'server', 'text', 'null', NULL, NULL, NULL,
            'Chat model that reads pictures at ingest; null: pictures are left out.')
    ) AS v (
        name, scope, value_type, default_value, minimum, maximum, allowed_values, description
    );
END;
