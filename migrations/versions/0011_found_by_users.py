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


# A document's first chunk has its names: those that were there get them, or lose them again.
ADD_NAMES = """
ALTER TABLE pgblend_data.chunk DISABLE TRIGGER chunk_20_immutable;
UPDATE pgblend_data.chunk AS c
SET lexemes = c.lexemes || pgblend._name_lexemes(
    pgblend._regconfig(c.text_search_config), d.source_key, ts_filter(c.lexemes, '{a}'))
FROM pgblend_data.document AS d
WHERE d.id = c.document_id AND c.chunk_index = 0;
"""
REMOVE_NAMES = r"""
ALTER TABLE pgblend_data.chunk DISABLE TRIGGER chunk_20_immutable;
UPDATE pgblend_data.chunk AS c
SET lexemes = ts_filter(c.lexemes, '{a,b,d}') || coalesce((
    SELECT string_agg(
        '''' || replace(replace(l.lexeme, '\', '\\'), '''', '''''') || ''':1C', ' ')::tsvector
    FROM unnest(c.lexemes) AS l
    WHERE l.lexeme ~ '^=[^=]'), '')
WHERE c.chunk_index = 0;
"""
# The lexical index is derived from the lexemes. Without numpy there is none.
INDEX_AGAIN = """
ALTER TABLE pgblend_data.chunk ENABLE TRIGGER chunk_20_immutable;
UPDATE pgblend_data.pending AS p
SET records = pgblend._pack_lexemes(c.lexemes, c.own_position)
FROM pgblend_data.chunk AS c
WHERE c.id = p.chunk_id AND c.chunk_index = 0;
SELECT pgblend._rebuild_collection(c.id)
FROM pgblend_data.collection AS c WHERE pgblend._has_numpy();
"""


SCORE = """
COMMENT ON COLUMN pgblend.search_result.score IS
'In [0, 1], falling with rank: what the stages gave, divided by what a perfect match would get. '
'Where MMR chooses rows for variety (setting mmr) it is the score before that, and may rise: rank '
'is the order.';
"""
SCORE_BEFORE = """
COMMENT ON COLUMN pgblend.search_result.score IS
'In [0, 1], falling with rank: what the stages gave, divided by what a perfect match would get.';
"""


def upgrade() -> None:
    connection = op.get_bind()
    execute_script(connection, PURPOSE + SCORE)
    execute_script(connection, LITERAL_WORDS)
    replace_routines(connection, snapshot(revision), snapshot(down_revision))
    execute_script(connection, ADD_NAMES + INDEX_AGAIN)


def downgrade() -> None:
    connection = op.get_bind()
    execute_script(connection, WORDS_BEFORE)
    execute_script(connection, FORGET_SETTINGS)
    replace_routines(connection, snapshot(down_revision), snapshot(revision))
    execute_script(connection, NO_PURPOSE + SCORE_BEFORE)
    execute_script(connection, REMOVE_NAMES + INDEX_AGAIN)
