"""Typos, made the same way each time from a seeded generator."""

import random
import re

LONG_WORD = re.compile(r"[^\W\d_]{5,}")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def typo(word: str, chance: random.Random) -> str:
    """Return the word with a letter inserted, deleted or replaced, or two neighbours swapped."""
    place = chance.randrange(len(word))
    kind = chance.choice(("insert", "delete", "replace", "swap"))
    if kind == "insert":
        return word[:place] + chance.choice(LETTERS) + word[place:]
    if kind == "delete":
        return word[:place] + word[place + 1 :]
    if kind == "replace":
        others = LETTERS.replace(word[place].lower(), "")
        return word[:place] + chance.choice(others) + word[place + 1 :]
    place = min(place, len(word) - 2)
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def misspell(text: str, chance: random.Random) -> str:
    """Return the text with one typo in each word of at least five letters."""
    return LONG_WORD.sub(lambda match: typo(match[0], chance), text)
