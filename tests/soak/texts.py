"""Texts of documents: common words, and a word that no other version of any document has."""

import itertools
import random
import threading

from soak.record import Chunks

WORDS = [f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]  # digits make identifiers
_numbers = itertools.count(1)
_lock = threading.Lock()


def new_tag() -> str:
    """Return a word that was never used, of letters only."""
    with _lock:
        number = next(_numbers)
    letters = ""
    while number:
        number, letter = divmod(number, 26)
        letters = chr(97 + letter) + letters
    return f"tag{letters}end"


def new_chunks(chance: random.Random, most: int) -> Chunks:
    """Return the passages of a new version of a document, all different, with its word in each."""
    tag = new_tag()
    texts = (
        " ".join([tag, *chance.choices(WORDS, k=chance.randint(2, 9))])
        for _ in range(chance.randint(1, most))
    )
    return tuple(dict.fromkeys(texts))


def tag_of(chunks: Chunks) -> str:
    """Return the word that only this version has."""
    return chunks[0].split()[0]
