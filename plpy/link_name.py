"""Names as links and texts write them, made comparable."""

import hashlib

from pgblend.plpy.name_words import name_words

LONGEST_NAME_BYTES = 800


def link_name(text: str) -> str:
    """Return a name without case, punctuation and leading zeros: PEP-0008 is "pep 8".

    Of a text that has no letter or digit its characters stay. A name too long for an index is its
    hash.
    """
    name = " ".join(name_words(text)) or " ".join(text.casefold().split())
    encoded = name.encode()
    return name if len(encoded) <= LONGEST_NAME_BYTES else hashlib.sha256(encoded).hexdigest()
