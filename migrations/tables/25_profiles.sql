-- The profiles that come with pgblend.

-- balanced was chosen on ten judged sets; the figures are in tests/benchmarks/NOTES.md. What sets
-- code apart was chosen on some questions on code, and judged on others. The other profiles
-- reproduce their source's formulas and constants; where a source leaves a formula open, the
-- description says
-- what stands for it. The strong signal's 0.84 and 0.14 are on GNO's own scale, a sigmoid of BM25
-- about 4.5 with scale 2.8: after min-max the best is always 1. three_arm expands whatever the
-- lexical arm found. The scores of graph are added as they are.
INSERT INTO pgblend_data.profile (name, built_in, description, settings) VALUES
('balanced', true,
'The default: words and vectors by convex fusion, each counting the more, the further apart its '
'scores are.',
'{
    "fusion": "convex", "normalization": {"method": "spread"},
    "weights": {
        "lexical": 1, "vector": 2, "fuzzy": 1,
        "lexical_variant": 0.5, "vector_variant": 1, "hyde": 1.4}
}'),
('code', true,
'Balanced for questions on source code in plain language, whose words code has in other ways: '
'vectors count a quarter more, and names of functions and classes three times as much.',
'{
    "fusion": "convex", "normalization": {"method": "spread"},
    "heading_weight": 6,
    "weights": {
        "lexical": 1, "vector": 2.5, "fuzzy": 1,
        "lexical_variant": 0.5, "vector_variant": 1.25, "hyde": 1.75}
}'),
('gno_epic', true,
'GNO''s plan: RRF with k 60 (original 1, variants 0.5, HyDE 0.7), + 0.1 for the first five of both '
'arms, and the raw sum blended with the reranker 75/25, 60/40, 40/60. The bonus is given '
'by the best '
'rank in any list of an arm, those of variants among them.',
'{
    "rrf_k": 60, "fusion": "rrf", "fuzzy": "off", "dedup": "off", "fused_scale": "raw",
    "lexical_method": "bm25", "rerank_level": "document",
    "weights": {
        "lexical": 1, "vector": 1, "fuzzy": 0,
        "lexical_variant": 0.5, "vector_variant": 0.5, "hyde": 0.7},
    "mmr": {"lambda": 1, "pool": 50},
    "strong_signal": {"score": 0.84, "gap": 0.14, "center": 4.5, "scale": 2.8},
    "bonus": {"kind": "both_top", "depth": 5, "amount": 0.1, "unit": "absolute"},
    "blend": {"kind": "tiers", "tiers": [
        {"max_rank": 3, "fused": 0.75, "rerank": 0.25},
        {"max_rank": 10, "fused": 0.6, "rerank": 0.4},
        {"max_rank": null, "fused": 0.4, "rerank": 0.6}]}
}'),
('gno', true,
'GNO as documented: BM25 of documents and vectors of passages by RRF with k 60 (original 2, '
'variants 1, HyDE 1.4), + 0.05 for a first and 0.02 for a second or third place, min-max of the '
'sums, blended 75/25, 60/40, 40/60; twice as many candidates as rows are wanted. Without '
'a reranker '
'scores are shares of the attainable sum, where the source gives its best match 1.',
'{
    "level": "document",
    "rrf_k": 60, "fusion": "rrf", "fuzzy": "off", "dedup": "off", "fused_scale": "minmax",
    "lexical_method": "bm25", "rerank_level": "document",
    "weights": {
        "lexical": 2, "vector": 2, "fuzzy": 0,
        "lexical_variant": 1, "vector_variant": 1, "hyde": 1.4},
    "mmr": {"lambda": 1, "pool": 50},
    "strong_signal": {"score": 0.84, "gap": 0.14, "center": 4.5, "scale": 2.8},
    "bonus": {"kind": "tiers", "unit": "absolute", "tiers": [
        {"max_rank": 1, "amount": 0.05}, {"max_rank": 3, "amount": 0.02}]},
    "blend": {"kind": "tiers", "tiers": [
        {"max_rank": 3, "fused": 0.75, "rerank": 0.25},
        {"max_rank": 10, "fused": 0.6, "rerank": 0.4},
        {"max_rank": null, "fused": 0.4, "rerank": 0.6}]},
    "over_fetch": {"factor": 2, "variant_factor": 1}
}'),
('three_arm', true,
'Vectors 0.5, words 0.3 and trigrams 0.2 by RRF with k 60; the reranker''s score 50 %, the raw sum '
'30 % and 1 - (rank - 1) / n 20 %; twice as many candidates as rows are wanted, thrice before '
'reranking. Trigrams by word_similarity(query, content): the source has its arguments the '
'other way '
'round, which finds nothing (.157 where .3 is needed).',
'{
    "rrf_k": 60, "fusion": "rrf", "fuzzy": "on", "fuzzy_method": "word_similarity",
    "dedup": "off", "fused_scale": "raw",
    "lexical_method": "ts_rank_cd", "strong_signal": {"score": 1000},
    "weights": {
        "vector": 0.5, "lexical": 0.3, "fuzzy": 0.2,
        "lexical_variant": 0, "vector_variant": 0, "hyde": 0},
    "mmr": {"lambda": 1, "pool": 50},
    "bonus": {"kind": "none"},
    "blend": {"kind": "position", "rerank": 0.5, "fused": 0.3, "position": 0.2},
    "over_fetch": {"factor": 2, "rerank_factor": 3}, "hyde": "query"
}'),
('rrf_mmr', true,
'Words and vectors by RRF with k 60 and weights 1, then MMR with lambda 0.7 over a pool of 50, its '
'relevance being the min-max of the sums; overlapping passages are left out.',
'{
    "rrf_k": 60, "fusion": "rrf", "fuzzy": "off", "dedup": "overlap", "fused_scale": "minmax",
    "lexical_method": "bm25",
    "weights": {
        "lexical": 1, "vector": 1, "fuzzy": 0,
        "lexical_variant": 0, "vector_variant": 0, "hyde": 0},
    "bonus": {"kind": "none"},
    "mmr": {"lambda": 0.7, "pool": 50}
}'),
('graph', true,
'Vectors and graph: max(2 n, 20) hits by cosine, expanded by one step in either direction; the sum '
'of cosine and 1 / (1 + depth), each 0 where it did not find the passage.',
'{
    "mode": "fast", "rrf_k": 60, "fusion": "rrf", "fuzzy": "off", "dedup": "off",
    "fused_scale": "raw",
    "weights": {
        "lexical": 0, "vector": 1, "fuzzy": 0,
        "lexical_variant": 0, "vector_variant": 0, "hyde": 0},
    "graph": {
        "weight": 1, "depth": 1, "direction": "both", "edge_types": null, "seeds": 10000,
        "node_limit": 10000, "combine": "sum"},
    "mmr": {"lambda": 1, "pool": 50},
    "bonus": {"kind": "none"},
    "over_fetch": {"factor": 2, "minimum": 20}
}')
ON CONFLICT (name) DO UPDATE SET description = excluded.description, settings = excluded.settings
WHERE profile.built_in;  -- one of that name may be a user's
