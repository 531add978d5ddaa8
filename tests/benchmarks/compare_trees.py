"""Whether this tree answers as another does: what a change of the house must not change.

    python tests/benchmarks/compare_trees.py BASE

BASE is a commit. Both write what they answer (write_answers.py) on a throwaway server, the older
first. Signatures, columns, rights, labels and order (tests/golden), comments and help texts
(docs/reference) are files of the trees, which `make test` holds to the code. Prints what differs,
and ends with 1 if anything does.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.server import throwaway_server

HERE = Path(__file__).resolve().parents[2]
TEXTS = ("tests/golden", "docs/reference")


def run(*command: object, tree: Path = HERE) -> None:
    subprocess.run([str(part) for part in command], cwd=tree, check=True)


def write(tree: Path, python: Path, server: str, folder: Path) -> None:
    """Have a tree write what it answers."""
    script = tree / "tests/benchmarks/write_answers.py"
    run(python, script, "--server", server, folder, tree=tree)


def differing(base: Path, new: Path) -> int:
    """Print how two folders differ; return 1 if they do."""
    command = ["git", "diff", "--no-index", "--stat", "--patch", "--unified=0", str(base), str(new)]
    return subprocess.run(command, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description="Whether this tree answers as another does.")
    parser.add_argument("base", help="a commit")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, throwaway_server() as at:
        server = "postgresql://{user}:{password}@{host}:{port}".format(**at)
        base, answers = Path(made) / "base", Path(made) / "answers"
        (Path(made) / "shared").symlink_to(HERE.parent / "shared")  # where its corpora are sought
        run("git", "worktree", "add", "--detach", base, given.base)
        try:
            python = base / ".venv/bin/python"
            run("docker/environment.sh", base / ".venv", "dev,bench", tree=base)
            write(base, python, server, answers / "base")
            write(HERE, Path(sys.executable), server, answers / "new")
            found = [differing(answers / "base", answers / "new")]
            found += [differing(base / texts, HERE / texts) for texts in TEXTS]
        finally:
            run("git", "worktree", "remove", "--force", base)
    print("they differ" if any(found) else "both answer the same")
    return int(any(found))


if __name__ == "__main__":
    sys.exit(main())
