"""What a process takes that reads and splits one file."""

import subprocess
import sys
from pathlib import Path

_READ = """
import re, sys
from pathlib import Path
from pgblend.cli.documents.chunking import iterate_chunks
from pgblend.cli.documents.formats import media_type_of, parse_file
from pgblend.cli.documents.parse_settings import ChunkSettings
path = Path(sys.argv[1])
held = [path.read_bytes()]
kind = media_type_of(path, held[0])
for chunk in iterate_chunks(parse_file(held.pop(), kind, path.name, ""), ChunkSettings()):
    pass
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def peak_megabytes(path: Path) -> float:
    """Return the most memory of such a process, without the bytes of the file, which are held.

    Its rusage would count the memory of the process that it was forked from.
    """
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(path)], check=True, capture_output=True, text=True
    )
    return int(done.stdout) / 2**10 - path.stat().st_size / 2**20
