"""Counting tokens as cl100k_base does, without a network.

tiktoken downloads an encoding unless it finds it in a folder; cl100k/ is one that comes along.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

TOKENS = 100_277  # special ones included
_CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
_FOLDER = Path(__file__).with_name("cl100k")  # its file has tiktoken's name: sha1 of its URL


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

    with _variable(_CACHE_VARIABLE, str(_FOLDER)):
        return tiktoken.get_encoding("cl100k_base")


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
