"""From 0.0.1, which left databases at revision 0010, to the first revision of 0.1."""

from sqlalchemy import Connection, text

from pgblend.migrations import public_schema, search_path
from pgblend.migrations.from_0010.move_public import move_public
from pgblend.migrations.replace_routines import execute_script, replace_routines, snapshot
from pgblend.migrations.scripts import read_script

TARGET = "0011"

# In this order; those of tables/ make what 0.0.1 had nothing of.
BEFORE_ROUTINES = (
    "tables/15_analyst_role.sql",
    "from_0010/tables.sql",
    "from_0010/settings.sql",
    "tables/25_profiles.sql",
    "tables/35_languages.sql",
    "tables/65_lexical_locks.sql",
    "from_0010/index_locks.sql",
    "tables/82_calibration.sql",
    "tables/87_experiments.sql",
    "tables/92_owned_rows.sql",
    "tables/94_access_tokens.sql",
    "tables/07_row_types.sql",
    "tables/98_shards.sql",
)
AFTER_ROUTINES = (
    "from_0010/chunks.sql",
    "from_0010/entities.sql",
    "from_0010/check_keys.sql",
)


def upgrade(connection: Connection) -> None:
    """Bring tables, routines and rows to revision 0011; all or nothing, in one transaction."""
    for script in BEFORE_ROUTINES:
        execute_script(connection, read_script(script))
    outline = read_script("from_0010/objects.sql")
    move_public(connection, outline)
    search_path.replace(connection, "pgblend", public_schema.PUBLIC)
    execute_script(connection, read_script("from_0010/former_routines.sql"))
    former = outline.replace(" pgblend._", " pgblend._former_")
    replace_routines(connection, snapshot(TARGET), outline + former)
    for script in AFTER_ROUTINES:
        execute_script(connection, read_script(script))
    stamp = text("UPDATE pgblend_data.alembic_version SET version_num = :revision")
    connection.execute(stamp, {"revision": TARGET})
