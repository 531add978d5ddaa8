"""The literal profiles, and a history of what changes in profiles and collections."""

from alembic import op

from pgblend.migrations.replace_routines import execute_script

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TABLES = """
ALTER TABLE pgblend_data.profile
ADD COLUMN built_in boolean NOT NULL DEFAULT false,
ADD COLUMN changed_by name NOT NULL DEFAULT session_user,
ADD COLUMN changed_at timestamptz NOT NULL DEFAULT now(),
ADD CONSTRAINT profile_name_check CHECK (name ~ '^[a-z][a-z0-9_]{0,62}$');
COMMENT ON COLUMN pgblend_data.profile.built_in IS
'Whether it comes with pgblend and stays as it is.';

ALTER TABLE pgblend_data.setting_history
ADD COLUMN scope text NOT NULL DEFAULT 'database',
ADD COLUMN subject text,
ADD CONSTRAINT setting_history_scope_check CHECK (scope IN ('database', 'collection', 'profile')),
ADD CONSTRAINT setting_history_subject_check CHECK ((scope = 'database') = (subject IS NULL));
COMMENT ON TABLE pgblend_data.setting_history IS
'Every change of a setting, of the database, a collection or a profile (subject is its name), by '
'whom and when; a NULL value means that it was not set. A profile''s text goes by "description".';
"""

# Each reproduces its source's formulas and constants; where a source leaves a formula open, the
# description says what stands for it. The strong signal's 0.84 and 0.14 are on GNO's own scale, a
# sigmoid of BM25 about 4.5 with scale 2.8: after min-max the best is always 1.
PROFILES = """
UPDATE pgblend_data.profile SET built_in = true WHERE name = 'balanced';
INSERT INTO pgblend_data.profile (name, built_in, description, settings) VALUES
('gno_epic', true,
'GNO''s plan: RRF with k 60 (original 1, variants 0.5, HyDE 0.7), + 0.1 for the first five of both '
'arms, and the raw sum blended with the reranker 75/25, 60/40, 40/60.',
'{
    "rrf_k": 60, "fusion": "rrf", "fuzzy": "off", "dedup": "off", "fused_scale": "raw",
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
'sums, blended 75/25, 60/40, 40/60; twice as many candidates as rows are wanted.',
'{
    "level": "document",
    "rrf_k": 60, "fusion": "rrf", "fuzzy": "off", "dedup": "off", "fused_scale": "minmax",
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
'reranking.',
'{
    "rrf_k": 60, "fusion": "rrf", "fuzzy": "on", "fuzzy_method": "word_similarity",
    "dedup": "off", "fused_scale": "raw",
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
    "weights": {
        "lexical": 1, "vector": 1, "fuzzy": 0,
        "lexical_variant": 0, "vector_variant": 0, "hyde": 0},
    "bonus": {"kind": "none"},
    "mmr": {"lambda": 0.7, "pool": 50}
}');
"""

DROP = """
DELETE FROM pgblend_data.setting AS s
WHERE
    s.name = 'default_profile'
    AND s.value #>> '{}' IN (
        SELECT p.name FROM pgblend_data.profile AS p WHERE p.built_in AND p.name <> 'balanced'
    );
DELETE FROM pgblend_data.profile WHERE built_in AND name <> 'balanced';
ALTER TABLE pgblend_data.profile
DROP CONSTRAINT profile_name_check,
DROP COLUMN built_in, DROP COLUMN changed_by, DROP COLUMN changed_at;
DELETE FROM pgblend_data.setting_history WHERE scope <> 'database';
ALTER TABLE pgblend_data.setting_history DROP COLUMN scope, DROP COLUMN subject;
COMMENT ON TABLE pgblend_data.setting_history IS
'Every change of a setting, by whom and when; a NULL value means the default.';
"""


def upgrade() -> None:
    connection = op.get_bind()
    execute_script(connection, TABLES)
    execute_script(connection, PROFILES)


def downgrade() -> None:
    execute_script(op.get_bind(), DROP)
