"""${message}."""

from alembic import op

from pgblend.migrations.replace_routines import replace_routines, snapshot

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    replace_routines(op.get_bind(), snapshot(revision), snapshot(down_revision))


def downgrade() -> None:
    replace_routines(op.get_bind(), snapshot(down_revision), snapshot(revision))
