"""Alembic revisions: tables, indexes, types and roles; each with a working downgrade."""
