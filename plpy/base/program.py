"""The importer of the program: serves the modules of plpy/ from what a session loads.

`_load_program` runs this source in the server.
"""

import gc
import marshal
import sys
import zlib
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import PathFinder
from collections.abc import Mapping, Sequence
from types import CodeType, ModuleType

PACKAGE = "pgblend"
MARK = "#: "
# What numpy, before numpy 2, and dataclasses bring and no search needs: a third of their time.
_LATER = frozenset(
    ["ast", "ctypes", "inspect", "ipaddress", "ntpath", "pickle", "textwrap"]
    + ["numpy.core._add_newdocs", "numpy.core._add_newdocs_scalars"]
    + [f"numpy.{part}" for part in ("ctypeslib", "fft", "ma", "polynomial", "random")]
)


class Program:
    """Finds and loads modules by name: a source each, or compiled code.

    Some modules of others are loaded when they are first used, as numpy 2 does with its parts.
    """

    def __init__(self, modules: Mapping[str, str | bytes]) -> None:
        self.modules = modules
        self.packages = {name.rpartition(".")[0] for name in modules}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of the program, or of such a one; None for every other."""
        if name in _LATER:
            return later(PathFinder.find_spec(name, path, target))
        if name not in self.modules:
            return None
        return ModuleSpec(
            name,
            self,  # type: ignore[arg-type]
            origin=f"<{name}>",
            is_package=name in self.packages,
        )

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module, and with it what it imports; tracebacks name it.

        What they make stays: to look for garbage meanwhile takes a tenth of the time.
        """
        name = module.__name__
        found = self.modules[name]
        if isinstance(found, bytes):
            code = marshal.loads(zlib.decompress(found))
        else:
            code = compile_module(name, found)
        is_outermost = gc.isenabled()
        gc.disable()
        try:
            exec(code, module.__dict__)
        finally:
            if is_outermost:
                gc.freeze()
                gc.enable()

    def install(self) -> None:
        """Serve imports from now on, in place of a program that was here before.

        Calls that are under way keep the modules that they have.
        """
        sys.meta_path[:] = [
            finder for finder in sys.meta_path if type(finder).__qualname__ != "Program"
        ]
        replaced = [name for name in sys.modules if f"{name}.".startswith(f"{PACKAGE}.")]
        for name in replaced:
            del sys.modules[name]
        if replaced:
            gc.unfreeze()
            gc.collect()
        sys.meta_path.insert(0, self)


def later(spec: ModuleSpec | None) -> ModuleSpec | None:
    """Return the spec with a loader that waits until the module is used."""
    if spec is not None and spec.loader is not None:
        from importlib.util import LazyLoader  # some milliseconds, which numpy 2 does not need

        spec.loader = LazyLoader(spec.loader)
    return spec


def compile_module(name: str, source: str) -> CodeType:
    """Compile one module's source, without what each session would read and none asks for.

    That is annotations and docstrings of functions, and columns: a traceback names lines.
    """
    import ast  # compiled code is loaded without it

    tree = ast.parse(source, f"<{name}>")
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
            if ast.get_docstring(node, clean=False) is not None:
                node.body[0] = ast.copy_location(ast.Pass(), node.body[0])
        elif isinstance(node, ast.arg):
            node.annotation = None
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.end_lineno = node.lineno
            node.col_offset = node.end_col_offset = -1
    return compile(tree, f"<{name}>", "exec", dont_inherit=True)


def compiled(text: str) -> bytes:
    """Return the code of the modules of a program's text by name, marshalled.

    In the text a line of MARK and a name begins each module. The code of each is marshalled and
    compressed by itself. Most of the time of loading goes by the size of what is read.
    """
    parts = f"\n{text}".split(f"\n{MARK}")[1:]
    sources = dict(part.partition("\n")[::2] for part in parts)
    return marshal.dumps(
        {
            name: zlib.compress(marshal.dumps(compile_module(name, source)))
            for name, source in sources.items()
        }
    )
