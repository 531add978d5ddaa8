"""Token counting: the numbers of cl100k_base, offline, and never an exception for odd text."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.cli.base.token_count import count_tokens, decode, encode


def test_tokens_are_those_of_cl100k_base() -> None:
    assert encode("hello world") == [15339, 1917]
    assert encode("tiktoken is great!") == [83, 1609, 5963, 374, 2294, 0]


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("hello world", 2), ("antidisestablishmentarianism", 6), ("2 + 2 = 4", 7)],
)
def test_count(text: str, count: int) -> None:
    assert count_tokens(text) == count


def test_names_of_special_tokens_are_plain_text() -> None:
    text = "<|endoftext|> and <|fim_prefix|>"
    tokens = encode(text)
    assert max(tokens) < 100_257  # the first special token
    assert decode(tokens) == text


def test_a_cut_inside_a_character_decodes_to_the_replacement_character() -> None:
    tokens = encode("🙂")
    assert len(tokens) > 1
    assert "\ufffd" in decode(tokens[:1])


def test_a_surrogate_without_its_pair_does_not_raise() -> None:
    assert count_tokens("a\ud800b") > 0


@pytest.mark.parametrize("character", [" ", "\n", "a", "=", "0"])
def test_a_long_run_of_one_character_does_not_raise(character: str) -> None:
    text = character * 100_000
    assert decode(encode(text)) == text


@given(st.text())
def test_decode_undoes_encode(text: str) -> None:
    assert decode(encode(text)) == text


def test_neither_a_network_nor_litellm_nor_the_callers_cache_folder_is_used() -> None:
    code = (
        "import os, socket, sys\n"
        "def refuse(*_): raise AssertionError('network')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "from pgblend.cli.base.token_count import count_tokens\n"
        "assert count_tokens('hello world') == 2\n"
        "assert 'litellm' not in sys.modules\n"
        "assert os.environ['TIKTOKEN_CACHE_DIR'] == '/nowhere'\n"
    )
    environment = {**os.environ, "TIKTOKEN_CACHE_DIR": "/nowhere"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
