"""Names as links and texts write them, made comparable."""

import hashlib
import re
import unicodedata

LINK_WORD = re.compile(r"[^\W_]+")
LONGEST_NAME_BYTES = 800


def link_name(text: str) -> str:
    """Return a name without case, punctuation and leading zeros: PEP-0008 is "pep 8".

    Of a text that has no letter or digit its characters stay. A name too long for an index is its
    hash.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = [
        (word.lstrip("0") or "0") if word.isdecimal() else word
        for word in LINK_WORD.findall(folded)
    ]
    name = " ".join(words) or " ".join(folded.split())
    encoded = name.encode()
    return name if len(encoded) <= LONGEST_NAME_BYTES else hashlib.sha256(encoded).hexdigest()
