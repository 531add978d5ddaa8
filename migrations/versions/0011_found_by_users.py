"""What users found on 0.0.1, the version of revision 0010."""

from alembic import op

from pgblend.migrations.replace_routines import replace_routines, snapshot

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


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
    op.get_bind().exec_driver_sql(SCORE)
    replace_routines(op.get_bind(), snapshot(revision), snapshot(down_revision))


def downgrade() -> None:
    replace_routines(op.get_bind(), snapshot(down_revision), snapshot(revision))
    op.get_bind().exec_driver_sql(SCORE_BEFORE)
