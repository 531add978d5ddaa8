"""${message}."""

from alembic import op

from pgblend.migrations.replace_routines import execute_script, replace_routines, snapshot
from pgblend.migrations.scripts import read_changes

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    for what in ("types", "tables"):  # files beside this one, which the extension has as well
        execute_script(connection, read_changes(revision, what))
    replace_routines(connection, snapshot(revision), snapshot(down_revision))


def downgrade() -> None:
    replace_routines(op.get_bind(), snapshot(down_revision), snapshot(revision))
