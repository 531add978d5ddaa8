"""The importer of the program: serves the modules of plpy/ from the text that a session loads.

Used in the server only, where this source is the first part of the program's text and is run by
`load` in sql/__init__.py. Importing importlib's own helpers would cost a session 20 ms.
"""

import sys
from _frozen_importlib import ModuleSpec
from types import ModuleType

PACKAGE = "pgblend"
MARK = "#: "


class Program:
    """Finds and loads modules by name in a text where a line of MARK and a name begins each."""

    def __init__(self, text: str) -> None:
        parts = ("\n" + text).split(f"\n{MARK}")[1:]
        self.sources = {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a module of the program; None for every other."""
        if name not in self.sources:
            return None
        is_package = any(other.startswith(f"{name}.") for other in self.sources)
        return ModuleSpec(
            name,
            self,  # type: ignore[arg-type]
            origin=f"<{name}>",
            is_package=is_package,
        )

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's source; tracebacks name the module."""
        name = module.__name__
        exec(compile(self.sources[name], f"<{name}>", "exec"), module.__dict__)

    def install(self) -> None:
        """Serve imports from now on, in place of a program that was here before.

        Calls that are under way keep the modules that they have.
        """
        sys.meta_path[:] = [
            finder for finder in sys.meta_path if type(finder).__qualname__ != "Program"
        ]
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{PACKAGE}.")]:
            del sys.modules[name]
        sys.meta_path.insert(0, self)
