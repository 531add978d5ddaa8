"""What users found on 0.0.1, the version of revision 0010."""

from alembic import op

from pgblend.migrations.replace_routines import replace_routines, snapshot

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    replace_routines(op.get_bind(), snapshot(revision), snapshot(down_revision))


def downgrade() -> None:
    replace_routines(op.get_bind(), snapshot(down_revision), snapshot(revision))
