"""The tables of 0.1, and the routines on them."""

from alembic import op
from sqlalchemy import text

from pgblend.migrations.replace_routines import execute_script, replace_routines, snapshot
from pgblend.migrations.scripts import read_script, read_tables, read_types, table_names
from pgblend.sql import render

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

IS_COORDINATOR = text("SELECT EXISTS (SELECT FROM pgblend_data.shard)")
SPACES = text("SELECT format('pgblend_data.%I', table_name) FROM pgblend_data.embedding_space")


# Policies of tables ask these, which read other tables.
READABLE = """
DROP FUNCTION pgblend_data.readable_bits(), pgblend_data.signature(bytea, text) CASCADE;
DROP VIEW pgblend_data.session_group, pgblend_data.proof_occasion, pgblend_data.own_roles CASCADE;
"""


def upgrade() -> None:
    connection = op.get_bind()
    execute_script(connection, read_types() + read_tables())
    replace_routines(connection, snapshot(revision), None)
    execute_script(connection, read_script("constraint_triggers.sql"))


def downgrade() -> None:
    connection = op.get_bind()
    is_coordinator = connection.execute(IS_COORDINATOR).scalar_one()
    execute_script(connection, read_script("drop_callers.sql"))
    if is_coordinator:
        execute_script(connection, read_script("drop_coordinator.sql"))
        replace_routines(connection, None, render(of_coordinator=True))
    replace_routines(connection, None, snapshot(revision))
    tables = [*table_names(), *connection.execute(SPACES).scalars()]
    execute_script(connection, f"{READABLE} DROP TABLE {', '.join(tables)};")
    execute_script(connection, read_script("drop_rest.sql"))
