"""What users found on 0.0.1, the version of revision 0010."""

from alembic import op

from pgblend.migrations.replace_routines import execute_script, replace_routines, snapshot

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# S2 matches by websearch_to_tsquery, ranks by ts_rank_cd, and expands whatever the words found; the
# others say BM25. The history is of what people change: a release says what it changes itself.
PROFILES = """
ALTER TABLE pgblend_data.profile DISABLE TRIGGER profile_10_record_history;
{}
ALTER TABLE pgblend_data.profile ENABLE TRIGGER profile_10_record_history;
"""
LITERAL_WORDS = PROFILES.format("""
UPDATE pgblend_data.profile
SET settings = settings || '{"lexical_method": "ts_rank_cd", "strong_signal": {"score": 1000}}'
WHERE name = 'three_arm';
UPDATE pgblend_data.profile SET settings = settings || '{"lexical_method": "bm25"}'
WHERE name IN ('gno_epic', 'gno', 'rrf_mmr');
""")
WORDS_BEFORE = PROFILES.format("""
UPDATE pgblend_data.profile
SET settings = settings - '{lexical_method,strong_signal}'::text[] WHERE name = 'three_arm';
UPDATE pgblend_data.profile SET settings = settings - 'lexical_method' WHERE built_in;
""")

# 0010 would refuse a collection or a profile with a setting that it does not know.
FORGET_SETTINGS = """
UPDATE pgblend_data.profile
SET settings = settings - 'lexical_method' WHERE settings ? 'lexical_method';
UPDATE pgblend_data.collection
SET settings = settings - 'lexical_method' WHERE settings ? 'lexical_method';
DELETE FROM pgblend_data.setting WHERE name = 'lexical_method';
"""


PURPOSE = """
ALTER TABLE pgblend_data.search_log ADD COLUMN purpose text NOT NULL DEFAULT 'search';
COMMENT ON COLUMN pgblend_data.search_log.purpose IS
'search, or what the session said of it (pgblend.purpose): evaluation. Views have searches alone.';
"""
NO_PURPOSE = "ALTER TABLE pgblend_data.search_log DROP COLUMN purpose;"


def upgrade() -> None:
    execute_script(op.get_bind(), PURPOSE)
    execute_script(op.get_bind(), LITERAL_WORDS)
    replace_routines(op.get_bind(), snapshot(revision), snapshot(down_revision))


def downgrade() -> None:
    execute_script(op.get_bind(), WORDS_BEFORE)
    execute_script(op.get_bind(), FORGET_SETTINGS)
    replace_routines(op.get_bind(), snapshot(down_revision), snapshot(revision))
    execute_script(op.get_bind(), NO_PURPOSE)
