"""Servers of one's own that speak OpenAI's API: Ollama, vLLM, llama.cpp, TEI and others.

Rerankers among them speak that of Cohere and Jina.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pgblend.cli.base.errors import UserError
from pgblend.cli.models.local_weights import LOCAL_PREFIX

_PREFIX = "PGBLEND_MODEL_SERVER_"
_KEY = "_KEY"
_NO_KEY = "none"  # OpenAI's library sends one whatever the server wants


@dataclass(frozen=True)
class OwnServer:
    """An address that ends before /embeddings, /rerank and /chat/completions, and its key."""

    url: str
    key: str = field(default=_NO_KEY, repr=False)


def own_servers(environment: Mapping[str, str]) -> dict[str, OwnServer]:
    """Return the servers in PGBLEND_MODEL_SERVER_<NAME>, and their keys in …_<NAME>_KEY.

    By the name that comes before a model's: in lower case, with hyphens. UserError for a
    value that is no address, a key without a server, and a name of models inside the gateway.
    """
    given = {
        variable.removeprefix(_PREFIX): value.strip()
        for variable, value in environment.items()
        if variable.startswith(_PREFIX)
    }
    keys = {name.removesuffix(_KEY): value for name, value in given.items() if name.endswith(_KEY)}
    urls = {name: value for name, value in given.items() if not name.endswith(_KEY)}
    for name in keys.keys() - urls.keys():
        raise UserError(
            f"{_PREFIX}{name}{_KEY} is set, and {_PREFIX}{name} is not",
            hint=f"set the server's address: {_PREFIX}{name}=http://127.0.0.1:11434/v1",
        )
    return {
        name.lower().replace("_", "-"): OwnServer(_checked(name, url), keys.get(name, _NO_KEY))
        for name, url in urls.items()
    }


def _checked(name: str, url: str) -> str:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query
    except ValueError:
        fits = False
    if not fits or not re.fullmatch(r"[A-Z0-9]+(_[A-Z0-9]+)*", name):
        raise UserError(
            f"{_PREFIX}{name} is {url!r}: expected an address, and a name of capitals and digits",
            hint=f"for example: {_PREFIX}OLLAMA=http://127.0.0.1:11434/v1",
        )
    if f"{name.lower()}/" == LOCAL_PREFIX:
        raise UserError(
            f"{_PREFIX}{name} would never be asked: {LOCAL_PREFIX}… are models inside the gateway",
            hint=f"give the server another name: {_PREFIX}OLLAMA={url}",
        )
    return url.rstrip("/")
