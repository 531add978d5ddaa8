"""HTTP is spoken in few places, each of which bounds what it reads and follows nothing."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = {
    "cli/base/http_client.py",  # clients of the gateway, and their transports
    "cli/models/litellm_library.py",  # litellm's
    "plpy/models/gateway.py",  # the server's own
}
CLIENTS = {
    "httpx": {"Client", "AsyncClient", "HTTPTransport", "AsyncHTTPTransport"}
    | {"get", "post", "put", "request", "stream", "head", "delete", "options", "patch"},
    "http.client": {"HTTPConnection", "HTTPSConnection"},
    "urllib.request": {"urlopen", "Request", "build_opener"},
    "requests": {"get", "post", "request", "Session"},
    "aiohttp": {"ClientSession", "request"},
}


def uses(path: Path) -> Iterator[str]:
    """Name what a module takes of HTTP libraries, but for types and classes of errors."""
    source = path.read_text(encoding="utf-8")
    if not any(word in source for word in (*CLIENTS, "response.json")):
        return
    tree = ast.parse(source)
    types = {id(inner) for node in ast.walk(tree) for inner in _annotations(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in types:
            library, name = ast.unparse(node.value), node.attr
            if name in CLIENTS.get(library, ()):
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {library}.{name}"
            if name == "json" and library.endswith("response"):
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {library}.json"
        elif isinstance(node, ast.ImportFrom) and node.module in CLIENTS:
            names = {alias.name for alias in node.names} & CLIENTS[node.module]
            yield from (f"{path.relative_to(ROOT)}: {node.module}.{name}" for name in names)


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    for name in ("annotation", "returns"):
        if (annotation := getattr(node, name, None)) is not None:
            yield from ast.walk(annotation)


def test_http_is_spoken_in_few_places() -> None:
    modules = [path for folder in ("cli", "plpy") for path in (ROOT / folder).rglob("*.py")]
    found = [use for path in modules for use in uses(path)]
    assert [use for use in found if use.split(":")[0] not in PLACES] == []
    assert {use.split(":")[0] for use in found} == PLACES  # else this test sees nothing
