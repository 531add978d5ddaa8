"""Who may use a private routine or view: whoever may use what calls it.

99_access grants by hand what is public, and of private routines those that the command line and
triggers call. From there rights follow the calls. They end at a routine with its owner's rights,
which calls as its owner, and at what 99_access revokes. tests/golden/execute.txt has the result, so
a right that widens is a line of a change.
"""

import ast
import re
from collections.abc import Collection, Mapping
from functools import cache

# Each with those whose rights it has.
ROLES = {
    "pgblend_reader": (),
    "pgblend_analyst": ("pgblend_reader",),
    "pgblend_writer": ("pgblend_reader",),
    "pgblend_admin": ("pgblend_analyst", "pgblend_writer"),
}
_LISTED = re.compile(r"^(GRANT|REVOKE) \w+ ON(?: FUNCTION)?\n([^;]*?)\n(?:TO|FROM) (\w+);", re.M)
_NAMED = re.compile(r"\b(?:pg)?blend\.(\w+)")
_SIGNED = re.compile(r"\bblend\.(\w+)(?:\([^)]*\))?")
_PRIVATE = re.compile(r"\b_[a-z]\w*")
_IMPORTED = re.compile(r"^ *from (pgblend\.plpy[\w.]*) import", re.MULTILINE)


def derived_grants(access: str, sources: Mapping[str, str], modules: Mapping[str, str]) -> str:
    """Return GRANT statements for what each role reaches beyond the grants of `access`.

    `sources` are the statements that create routines and views, by name, without comments;
    `modules` are those of the program.
    """
    calls = called(sources, modules)
    revoked = _listed(access, "REVOKE")
    ends = _with_owners_rights(sources) | revoked
    private = {name for name in sources if name.startswith("_")} - revoked
    statements, known = [], dict[str, set[str]]()
    for role, others in ROLES.items():
        given, has = granted(access, role), {n for other in others for n in known[other]}
        derived = (reached(given, calls, ends) & private) - given - has
        known[role] = given | derived | has
        views = {name for name in derived if "\nCREATE OR REPLACE VIEW " in sources[name]}
        for right, names in (("SELECT ON", views), ("EXECUTE ON FUNCTION", derived - views)):
            listed = ",\n".join(f"pgblend.{name}" for name in sorted(names))
            statements += [f"GRANT {right}\n{listed}\nTO {role};\n"] if listed else []
    return "".join(statements)


def called_by_owner(sources: Mapping[str, str], modules: Mapping[str, str]) -> set[str]:
    """Name the routines with their owner's rights, and all that these call."""
    return reached(_with_owners_rights(sources), called(sources, modules), set())


def _with_owners_rights(sources: Mapping[str, str]) -> set[str]:
    return {name for name, text in sources.items() if "\nSECURITY DEFINER\n" in text}


def granted(access: str, role: str) -> set[str]:
    """Name what 99_access grants to a role by hand."""
    return _listed(access, "GRANT", role)


def least_roles(access: str) -> dict[str, str]:
    """Map what 99_access grants by hand to the role that it is granted to."""
    return {name: role for role in reversed(ROLES) for name in granted(access, role)}


def to_everybody(access: str, guarded: Collection[str]) -> str:
    """Return the GRANT by which everybody may call routines that ask for the caller's role."""
    listed = {found[0] for found in _SIGNED.finditer(access) if found[1] in guarded}
    names = ",\n".join(sorted(listed))
    return f"GRANT EXECUTE ON FUNCTION\n{names}\nTO public;\n"


def _listed(access: str, verb: str, role: str = "public") -> set[str]:
    """Name what statements of `access` grant to a role, or revoke."""
    lists = [names for *about, names, to in _LISTED.findall(access) if [*about, to] == [verb, role]]
    return {name for names in lists for name in _NAMED.findall(names)}


def reached(first: set[str], calls: Mapping[str, set[str]], ends: set[str]) -> set[str]:
    """Name what is called from `first`, directly or not, by the caller's rights."""
    reached, open_ends = set(first), list(first)
    while open_ends:
        name = open_ends.pop()
        new = set() if name in ends else calls.get(name, set()) - reached
        reached |= new
        open_ends += new
    return reached


def called(sources: Mapping[str, str], modules: Mapping[str, str]) -> dict[str, set[str]]:
    """Map routines, views and modules to what they name, import or load."""
    known = {*sources, *modules}
    of_modules = {
        name: {*_strings(text), *_IMPORTED.findall(text)} & known for name, text in modules.items()
    }
    of_sources = {
        name: ({*_NAMED.findall(text), *_IMPORTED.findall(text)} & known) - {name}
        for name, text in sources.items()
    }
    return of_modules | of_sources


@cache  # a module is read once for each grant that is derived
def _strings(module: str) -> frozenset[str]:
    """Return the names of private routines that stand in a module's texts, docstrings left out."""
    nodes = list(ast.walk(ast.parse(module)))
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return frozenset(
        name
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
        for name in _PRIVATE.findall(node.value)
    )
