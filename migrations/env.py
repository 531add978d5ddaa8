"""Alembic's entry point: runs revisions on the connection that the runner hands over."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table="alembic_version",
    version_table_schema="pgblend_data",
    transaction_per_migration=True,
)

with context.begin_transaction():
    context.run_migrations()
