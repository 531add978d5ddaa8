"""The words of a text, as names are compared by."""

import re
import unicodedata

LINK_WORD = re.compile(r"[^\W_]+")


def name_words(text: str) -> list[str]:
    """Return the words without case, punctuation and leading zeros: PEP-0008 is ["pep", "8"]."""
    words = LINK_WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return [(word.lstrip("0") or "0") if word.isdecimal() else word for word in words]
