"""A throwaway PostgreSQL for the tests."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pgblend.cli.server.cluster import Cluster


@contextmanager
def throwaway_server() -> Iterator[dict[str, Any]]:
    """Make and start a cluster in a temporary folder; yield host, port, user and password."""
    # Not pytest's tmp_path: the server runs as another account, which could not enter it.
    with tempfile.TemporaryDirectory(prefix="pgblend-test-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        cluster = Cluster(folder / "server", durable=False)
        cluster.create()
        cluster.start()
        try:
            parameters = cluster.connection_parameters()
            yield {key: parameters[key] for key in ("host", "port", "user", "password")}
        finally:
            cluster.stop()
