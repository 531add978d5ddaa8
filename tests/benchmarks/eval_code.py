"""How well code is found that is cut at functions, against code cut at lines.

    pgblend up
    python tests/benchmarks/eval_code.py URL

Judged are the functions of cosqa_test, put together to files, and those of packages, asked
for by their docstrings. Makes collections, waits for a worker to embed them, and prints nDCG@10 of
the default profile and of `code`, with paired p values. Leaves the collections for a look.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from corpora import DATA

from pgblend.cli.base.database import connect
from pgblend.cli.measure.compare import compare_paired
from support.code_sets import modules, ndcg, packages, store

# What `code` counts was chosen on others.
PACKAGES = ("_pytest", "markdown", "urllib3", "anyio", "pluggy", "tenacity", "pptx")
PROFILES = ("balanced", "code")
QUESTIONS = 2000  # at most; there are 1,555
WAITING = "SELECT coalesce(sum(waiting + claimed), 0) FROM blend.embedding_progress"


def main(url: str) -> None:
    """Measure both sets."""
    sets = {
        "cosqa": modules(DATA / "ir" / "cosqa_test"),
        "packages": packages(PACKAGES, QUESTIONS),
    }
    with connect(url) as connection:
        connection.autocommit = True
        for name, code in sets.items():
            store(connection, f"{name}_lines", code, by_lines=True)
            store(connection, f"{name}_functions", code, by_lines=False)
        while connection.execute(WAITING).fetchone() != (0,):
            time.sleep(5)
        for name, code in sets.items():
            lines = ndcg(connection, f"{name}_lines", code, *PROFILES)
            functions = ndcg(connection, f"{name}_functions", code, *PROFILES)
            for profile, before, after in zip(PROFILES, lines, functions, strict=True):
                print(name, profile, "by lines, at functions:", compare_paired(before, after))
            print(name, "balanced, code:", compare_paired(*functions))


if __name__ == "__main__":
    main(sys.argv[1])
