"""A base backup and the archived log bring a database back to a moment: the same answers."""

import shutil
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgblend.cli.operate import account
from pgblend.cli.operate.cluster import Cluster
from pgblend.cli.operate.state import password_file
from pgblend.migrations import runner
from support.database import Database, add_documents
from support.library_answers import answers, fill_library
from support.server import temporary_cluster
from support.waiting import wait_until

pytestmark = pytest.mark.slow

IS_RESTORED = "SELECT NOT pg_is_in_recovery()"


def restored(primary: Cluster, backup: Path, archive: Path, target: str) -> Cluster:
    """Set up a backup's folder so that its server reads the log up to a named point."""
    cluster = Cluster(backup, durable=False)
    shutil.copy(password_file(primary.directory), password_file(backup))
    lines = (
        f"restore_command = 'cp {archive}/%f %p'",
        f"recovery_target_name = '{target}'",
        "recovery_target_action = promote",
        "archive_mode = off",
    )
    cluster.account.append(cluster.data / "postgresql.auto.conf", "\n".join((*lines, "")))
    (cluster.data / "recovery.signal").touch()
    return cluster


def test_a_base_backup_and_the_log_up_to_a_moment() -> None:
    with temporary_cluster(wal_level="replica", max_wal_senders="2") as primary:
        archive, backup = primary.directory / "archive", primary.directory.with_name("backup")
        account.make_private(archive, primary.account)
        with psycopg.connect(primary.url, autocommit=True) as connection:
            db = Database(connection)
            db.rows("ALTER SYSTEM SET archive_mode = on")
            db.rows(f"ALTER SYSTEM SET archive_command = 'cp %p {archive}/%f'")
        primary.stop()
        primary.start()
        runner.upgrade(primary.url)
        fill_library(primary.url)

        copy = Cluster(backup, durable=False)
        copy.prepare()
        account.make_private(copy.data, copy.account)
        source = make_conninfo("", **primary.connection_parameters() | {"dbname": "replication"})
        tool = [copy.binaries["pg_basebackup"], "--checkpoint=fast", "--no-sync"]
        copy.account.run([*tool, "-d", source, "-D", copy.data])

        with psycopg.connect(primary.url, autocommit=True) as connection:
            db = Database(connection)
            add_documents(db, "pending", [("late", "Late", "a sea of late wine")])
            db.rows("SELECT blend.lexical_seal('pending')")
            db.rows("SELECT blend.delete_document('sealed', 'd13')")
            expected = answers(primary.url)
            db.rows("SELECT pg_create_restore_point('before the mistake')")
            db.rows("SELECT blend.remove_collection('sealed')")
            last = db.value("SELECT pg_walfile_name(pg_switch_wal())")
        wait_until(lambda: (archive / last).exists())
        assert "sealed" not in str(answers_of_what_is_left(primary.url))

        cluster = restored(primary, backup, archive, "before the mistake")
        try:
            cluster.start()
            wait_until(lambda: is_restored(cluster.url))
            assert answers(cluster.url) == expected
            runner.upgrade(cluster.url)  # changes nothing
            assert answers(cluster.url) == expected
        finally:
            cluster.stop()
            shutil.rmtree(backup)


def is_restored(url: str) -> bool:
    with psycopg.connect(url, autocommit=True) as connection:
        return bool(Database(connection).value(IS_RESTORED))


def answers_of_what_is_left(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return Database(connection).rows("SELECT * FROM blend.lexical_search('wine')")
