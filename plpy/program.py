"""The importer of the program: serves the modules of plpy/ from what a session loads.

`_load_program` runs this source in the server. Importing importlib's own helpers would cost each
session 20 ms.
"""

import marshal
import sys
from _frozen_importlib import ModuleSpec
from collections.abc import Mapping
from types import CodeType, ModuleType

PACKAGE = "pgblend"
MARK = "#: "


class Program:
    """Finds and loads modules by name: a source each, or compiled code."""

    def __init__(self, modules: Mapping[str, str | bytes]) -> None:
        self.modules = modules

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a module of the program; None for every other."""
        if name not in self.modules:
            return None
        is_package = any(other.startswith(f"{name}.") for other in self.modules)
        return ModuleSpec(
            name,
            self,  # type: ignore[arg-type]
            origin=f"<{name}>",
            is_package=is_package,
        )

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module; tracebacks name it."""
        name = module.__name__
        found = self.modules[name]
        code = marshal.loads(found) if isinstance(found, bytes) else compile_module(name, found)
        exec(code, module.__dict__)

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


def compile_module(name: str, source: str) -> CodeType:
    """Compile one module's source."""
    return compile(source, f"<{name}>", "exec", dont_inherit=True)


def compiled(text: str) -> bytes:
    """Return the marshalled code of the modules of a program's text, by name, marshalled.

    In the text a line of MARK and a name begins each module.
    """
    parts = f"\n{text}".split(f"\n{MARK}")[1:]
    sources = dict(part.partition("\n")[::2] for part in parts)
    return marshal.dumps(
        {name: marshal.dumps(compile_module(name, source)) for name, source in sources.items()}
    )
