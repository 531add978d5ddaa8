"""Write the documentation strings of Python's standard library as text files: docstrings.py DIR."""

import importlib
import pydoc
import sys
import warnings
from pathlib import Path


def main(folder: Path) -> None:
    """Write one file a module; modules that cannot be imported here are left out."""
    warnings.simplefilter("ignore")
    for name in sorted(sys.stdlib_module_names):
        if name.startswith("_") or name in {"antigravity", "this", "idlelib", "lib2to3"}:
            continue
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        text = pydoc.plain(pydoc.TextDoc().docmodule(module))
        (folder / f"{name}.txt").write_text(f"{name}\n\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
