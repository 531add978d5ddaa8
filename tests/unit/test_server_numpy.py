"""The program's arithmetic with the server's numpy, which may be one major version behind.

numpy 1 adds a narrow array and a number in the narrow type, numpy 2 in the wider one.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

HERE = Path(__file__).parent
FILES = ("test_sealed_rows.py", "test_lexical_merging.py", "test_lexical_scoring.py")
PYTHON, PACKAGES = Path("/usr/bin/python3"), "/usr/lib/python3/dist-packages"
# The server's packages come first: numpy is its own, pytest is that of these tests.
RUN = """
import sys
sys.path[1:1] = [sys.argv[1]]
import numpy
sys.path += sys.argv[2].split(":")
import pytest
assert numpy.__version__.startswith("1."), numpy.__version__
sys.exit(pytest.main(sys.argv[3:]))
"""


def server_numpy() -> str:
    if not PYTHON.exists():
        return ""
    version = "import numpy, sys; print(*sys.version_info[:2], numpy.__version__, sep='.')"
    told = subprocess.run([PYTHON, "-c", version], capture_output=True, text=True, check=False)
    return told.stdout.strip()


@pytest.mark.slow
def test_the_lexical_arm_counts_alike() -> None:
    here = f"{sys.version_info[0]}.{sys.version_info[1]}."
    if not server_numpy().startswith(f"{here}1."):
        pytest.skip(f"the server's Python is not {here[:-1]} with numpy 1: {server_numpy()}")
    assert not numpy.__version__.startswith("1.")
    paths = ":".join(path for path in sys.path if path and path != PACKAGES)
    told = subprocess.run(
        [PYTHON, "-c", RUN, PACKAGES, paths, "-q", "-p", "no:cacheprovider"]
        + [str(HERE / name) for name in FILES],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout[-3000:] + told.stderr[-1000:]
