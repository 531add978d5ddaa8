"""`make demo-managed` with few pages: an owner without rights, no files of PL/Python."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SAID = (
    "PL/Python here: 0",
    "hint: CREATE ROLE pgblend_reader ADMIN anna;",
    "hint: CREATE EXTENSION vector;",
    "4 added",
    "[('Wrong size', 'tickets')]",  # over HTTP
    "[('Late parcel', '1')]",  # from Python
    "  2 | Bert     | Wrong size ",  # joined by psql through the door
)


@pytest.mark.slow
def test_the_demonstration_of_a_managed_server_finds_what_it_stored() -> None:
    pgblend = Path(sys.executable).with_name("pgblend")
    made = subprocess.run(
        [REPOSITORY / "docker/demo_managed.sh", pgblend],
        env=os.environ | {"PGBLEND_DEMO_PAGES": "4", "PGBLEND_DEMO_PORT": "25470"},
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    said = made.stdout + made.stderr
    assert [one for one in SAID if one not in said] == []
    for wrong in ("PB017", "you don't own a lock", "Traceback"):
        assert wrong not in said
