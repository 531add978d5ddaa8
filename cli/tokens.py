"""Counting tokens as cl100k_base does, without a network.

tiktoken downloads an encoding unless it finds it in a folder, which litellm installs. Only the path
is taken from litellm: importing the package would cost two seconds.
"""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pgblend.cli.errors import UserError

if TYPE_CHECKING:
    import tiktoken

TOKENS = 100_277  # special ones included
_CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
_CL100K_FILE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"  # tiktoken's name: sha1 of the file's URL


def count_tokens(text: str) -> int:
    """Return how many cl100k_base tokens a text has."""
    return len(encode(text))


def encode(text: str) -> list[int]:
    """Return the tokens of a text; the names of special tokens are text like any other."""
    return _encoding().encode_ordinary(text)


def decode(tokens: list[int]) -> str:
    """Return the text of tokens; a cut inside a character gives U+FFFD."""
    return _encoding().decode(tokens)


def token_bytes(token: int) -> bytes:
    """Return the UTF-8 that a token stands for, which may begin or end within a character."""
    return _encoding().decode_single_token_bytes(token)


@cache
def _encoding() -> "tiktoken.Encoding":
    import tiktoken

    with _variable(_CACHE_VARIABLE, str(_encoding_folder())):
        return tiktoken.get_encoding("cl100k_base")


def _encoding_folder() -> Path:
    litellm = importlib.util.find_spec("litellm")
    if litellm and litellm.origin:
        folder = Path(litellm.origin).parent / "litellm_core_utils" / "tokenizers"
        if (folder / _CL100K_FILE).is_file():
            return folder
    raise UserError(
        "the cl100k_base tokens, which come with litellm, are not installed",
        hint="reinstall it: pip install --force-reinstall litellm",
    )


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
