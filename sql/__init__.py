"""Replaceable database objects: routines, triggers and views by file, rendered into one script.

An object begins with its header, `-- name: what it is`, and goes to the next one's. `name` is the
public `blend.name`, `_name` the private `pgblend._name`. The file `sql/NN_room/subject.sql` has all
objects of a subject: what is public first, and each above what it calls.

Folders give the creation order; within a folder, objects are created after what they call or read,
since a view or a `BEGIN ATOMIC` body binds when it is created. Four things are put in: the program
(program.py), load_program.txt before every PL/Python body that uses it,
public_errors.plpgsql around the body of every public routine in PL/pgSQL, which raises its errors
anew, and a search_path where a body names none: pg_catalog alone for routines with their owner's
rights and what these call, else FROM CURRENT. Before such a body that runs by its caller's rights
stands public_guard.plpgsql: everybody may call it, and a role without the right hears which GRANT
it lacks. Two follow at the end: rights on what is private (rights.py) and COMMENTs (comments.py).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from importlib.resources import files
from importlib.resources.abc import Traversable

from pgblend.sql.comments import comments
from pgblend.sql.program import program_modules, program_text, with_program
from pgblend.sql.rights import called_by_owner, derived_grants, least_roles, to_everybody

_CALL = re.compile(r"\b(?:pg)?blend\.(\w+)\s*\(")
_READ = re.compile(r"\bFROM (?:pg)?blend\.(\w+)")  # a view
_PUBLIC_BODY = re.compile(
    r"(LANGUAGE plpgsql\n\w+ PARALLEL UNSAFE\n.*?AS \$function\$\n)(.*?)(\n\$function\$;)",
    re.DOTALL,
)
_PARALLEL_BODY = re.compile(_PUBLIC_BODY.pattern.replace("UNSAFE", "SAFE"), re.DOTALL)
_WITHOUT_PATH = re.compile(
    r"(\nLANGUAGE pl(?!proxy)\w+\n(?:(?!SET search_path)[^\n]+\n)*?)(?=AS \$)"
)
_DEFINER = "\nSECURITY DEFINER\n"
_SHELL = "_search"  # of all searches, which the CLI calls as well
_PROSE = re.compile(r"--[^\n]*|COMMENT ON [^;]*;|HINT = '[^']*'")

_NEXT_HEADER = re.compile(r"(?<=\n)\n(?=-- \w+: )")
_HEADER = re.compile(r"-- (\w+): ")
_DECLARED = re.compile(r"-- Calls in text: ([^(]*)\(")
OF_COORDINATOR = "coordinator_"  # so begin the names of its files
_PRIVATE = re.compile(r"\b_[a-z]\w*")


@dataclass(frozen=True)
class SourceObject:
    """One object of sql/: its stage folder, its file, its name and the text that creates it."""

    stage: str
    file: str
    name: str
    text: str

    @property
    def calls(self) -> set[str]:
        """Names of pgblend routines that the code calls, and of views that it reads."""
        code = _PROSE.sub("", self.text)
        return {*_CALL.findall(code), *_READ.findall(code)} - {self.name}


def source_objects() -> list[SourceObject]:
    """All objects of sql/ in creation order."""
    return list(_ordered_objects())


@cache  # the files of an installed package stay as they are
def render(of_coordinator: bool = False) -> str:
    """Join all objects into one script, with the program and what loads it put in.

    A coordinator of shards has stubs of its own (coordinator.py).
    """
    program = program_text()
    objects = source_objects()
    if of_coordinator:
        from pgblend.sql.coordinator import coordinator_objects

        objects = coordinator_objects(objects)
    (access, code), modules = code_of(objects), program_modules()
    by_owner = called_by_owner(code, modules)
    roles = {one.name: role for one in objects if (role := _guarding_role(one, access))}
    texts = (
        f"-- {one.stage}/{one.file}\n"
        + _with_search_path(_with_errors(one, roles.get(one.name)), one.name in by_owner)
        for one in objects
    )
    return "\n".join(
        [
            *(with_program(text, program) for text in texts),
            derived_grants(access, code, modules),
            to_everybody(access, roles.keys()),
            *(comments(one.name, one.text) for one in objects),
        ]
    )


def code_of(objects: list[SourceObject]) -> tuple[str, dict[str, str]]:
    """Return the text of 99_access, and by name that of all others without prose."""
    sources = {one.name: one.text for one in objects}
    access = sources.pop("access")
    return access, {name: with_program(_code(text), "") for name, text in sources.items()}


def _code(text: str) -> str:
    """Return a text without prose; routines that statements built as text call stay named."""
    declared = [name for names in _DECLARED.findall(text) for name in _PRIVATE.findall(names)]
    return _PROSE.sub("", text) + "".join(f"\npgblend.{name}" for name in declared)


def _guarding_role(one: SourceObject, access: str) -> str | None:
    """Return the role that a public routine asks its caller for by itself.

    One with its owner's rights cannot ask, for it does not see its caller.
    """
    is_asked = _PUBLIC_BODY.search(one.text) or _PARALLEL_BODY.search(one.text)
    if one.name.startswith("_") or not is_asked or _DEFINER in one.text:
        return None
    return least_roles(access).get(one.name)


def _with_errors(one: SourceObject, role: str | None) -> str:
    """Wrap the body of a public routine; one that a parallel worker runs cannot catch anything."""
    if one.name.startswith("_") and one.name != _SHELL:
        return one.text
    errors = _part("public_errors.plpgsql")
    guard = _part("public_guard.plpgsql").format(role=role, name=one.name) if role else ""
    text = _PUBLIC_BODY.sub(
        lambda found: f"{found[1]}BEGIN\n{guard}{found[2]}\n{errors}END;{found[3]}", one.text
    )
    if not guard:
        return text
    return _PARALLEL_BODY.sub(
        lambda found: f"{found[1]}BEGIN\n{guard}{found[2]}\nEND;{found[3]}", text
    )


@cache
def _part(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8")


def _with_search_path(text: str, is_by_owner: bool) -> str:
    """Pin the search_path of a body that names none: a caller's would change what it calls."""
    path = "SET search_path = pg_catalog, pg_temp\n"
    text = text.replace(_DEFINER, f"{_DEFINER}{path}")
    pinned = path if is_by_owner else "SET search_path FROM CURRENT\n"
    return _WITHOUT_PATH.sub(rf"\1{pinned}", text)


def _ordered_objects() -> Iterator[SourceObject]:
    for stage in sorted(files(__name__).iterdir(), key=lambda entry: entry.name):
        if not stage.name[0].isdigit():
            continue
        by_name = {one.name: one for one in objects_of(stage)}
        graph = {name: sorted(one.calls & by_name.keys()) for name, one in by_name.items()}
        for name in TopologicalSorter(graph).static_order():
            yield by_name[name]


def objects_of(stage: Traversable, *, of_coordinator: bool = False) -> Iterator[SourceObject]:
    """Yield the objects of a folder: of every database, or those that a coordinator alone has."""
    for entry in sorted(stage.iterdir(), key=lambda entry: entry.name):
        file, _, kind = entry.name.partition(".")
        if kind == "sql" and file.startswith(OF_COORDINATOR) == of_coordinator:
            for text in _NEXT_HEADER.split(entry.read_text(encoding="utf-8")):
                header = _HEADER.match(text)
                yield SourceObject(stage.name, file, header[1] if header else file, text)
