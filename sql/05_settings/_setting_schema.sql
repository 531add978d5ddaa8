-- _setting_schema: what a nested setting looks like inside, by its value type; NULL for the others.
-- The schemas are those of plpy/settings/schema.py: an object has `keys`, or one of `kinds`, which
-- its key "kind" names.
CREATE OR REPLACE FUNCTION pgblend._setting_schema(value_type text)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE value_type
    WHEN 'blend' THEN '{"type": "object", "kinds": {
        "tiers": {"required": ["tiers"], "keys": {
            "tiers": {"type": "array", "rise": "max_rank", "items": {
                "type": "object", "required": ["fused", "rerank"], "keys": {
                    "max_rank": {
                        "type": "integer", "minimum": 1, "maximum": 10000, "nullable": true},
                    "fused": {"type": "number", "minimum": 0, "maximum": 1},
                    "rerank": {"type": "number", "minimum": 0, "maximum": 1}}}}}},
        "position": {"required": ["fused", "rerank", "position"], "keys": {
            "fused": {"type": "number", "minimum": 0, "maximum": 1},
            "rerank": {"type": "number", "minimum": 0, "maximum": 1},
            "position": {"type": "number", "minimum": 0, "maximum": 1}}}}}'::jsonb
    WHEN 'bonus' THEN '{"type": "object", "kinds": {
        "none": {"keys": {}},
        "both_top": {"required": ["depth", "amount"], "keys": {
            "depth": {"type": "integer", "minimum": 1, "maximum": 10000},
            "amount": {"type": "number", "minimum": 0, "maximum": 1000000},
            "unit": {"type": "text", "allowed": ["absolute", "attainable"]}}},
        "tiers": {"required": ["tiers"], "keys": {
            "tiers": {"type": "array", "rise": "max_rank", "items": {
                "type": "object", "required": ["max_rank", "amount"], "keys": {
                    "max_rank": {"type": "integer", "minimum": 1, "maximum": 10000},
                    "amount": {"type": "number", "minimum": 0, "maximum": 1000000}}}},
            "unit": {"type": "text", "allowed": ["absolute", "attainable"]}}}}}'::jsonb
    WHEN 'expansion' THEN '{"type": "object", "keys": {
        "lexicalQueries": {"type": "array", "most": 10, "items": {"type": "text", "most": 10000}},
        "vectorQueries": {"type": "array", "most": 10, "items": {"type": "text", "most": 10000}},
        "hyde": {"type": "text", "most": 100000, "nullable": true},
        "embeddings": {"type": "array", "most": 11, "items": {"type": "array", "most": 16000,
            "items": {"type": "number", "minimum": -1e38, "maximum": 1e38}}},
        "notes": {"type": "text", "most": 100000, "nullable": true},
        "queryLanguage": {"type": "text", "most": 100, "nullable": true},
        "promptVersion": {"type": "text", "most": 1000, "nullable": true},
        "cached": {"type": "boolean"}}}'::jsonb
    WHEN 'feedback' THEN '{"type": "object", "keys": {
        "passages": {"type": "integer", "minimum": 0, "maximum": 100},
        "weight": {"type": "number", "minimum": 0, "maximum": 100}}}'::jsonb
    WHEN 'graph' THEN '{"type": "object", "keys": {
        "weight": {"type": "number", "minimum": 0, "maximum": 1000000},
        "depth": {"type": "integer", "minimum": 0, "maximum": 10},
        "direction": {"type": "text", "allowed": ["both", "in", "out"]},
        "edge_types": {"type": "array", "most": 100, "nullable": true,
            "items": {"type": "text", "most": 200}},
        "seeds": {"type": "integer", "minimum": 1, "maximum": 10000},
        "node_limit": {"type": "integer", "minimum": 1, "maximum": 100000},
        "combine": {"type": "text", "allowed": ["fused", "sum"]}}}'::jsonb
    WHEN 'mmr' THEN '{"type": "object", "keys": {
        "lambda": {"type": "number", "minimum": 0, "maximum": 1},
        "pool": {"type": "integer", "minimum": 1, "maximum": 1000}}}'::jsonb
    WHEN 'normalization' THEN '{"type": "object", "keys": {
        "method": {"type": "text", "allowed":
            ["minmax", "theoretical", "absolute", "zscore", "logistic", "spread"]},
        "center": {"type": "object", "keys": {
            "fuzzy": {"type": "number", "minimum": -1000000, "maximum": 1000000},
            "lexical": {"type": "number", "minimum": -1000000, "maximum": 1000000},
            "vector": {"type": "number", "minimum": -1000000, "maximum": 1000000}}},
        "scale": {"type": "object", "keys": {
            "fuzzy": {"type": "number", "minimum": 0.000001, "maximum": 1000000},
            "lexical": {"type": "number", "minimum": 0.000001, "maximum": 1000000},
            "vector": {"type": "number", "minimum": 0.000001, "maximum": 1000000}}}}}'::jsonb
END;
