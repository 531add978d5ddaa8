"""Stateful database objects: alembic revisions, and how routines are replaced with them."""
