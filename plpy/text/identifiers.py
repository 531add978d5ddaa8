"""What is looked for as it stands: identifiers in a text, a document's name and key."""

import re
from functools import lru_cache

from pgblend.plpy.text.forms import unicode_form

LONGEST = 100
# Plain words and numbers, which hold no identifier, are passed over as quickly as can be.
PART = r"0-9A-Za-z_À-ɏͰ-ԯ./\\:@#+~$-"
PLAIN = rf"(?:[A-Za-z][a-z]*|[0-9]+)[.:]*(?![{PART}]|\(\))"
TOKEN = rf"{PLAIN}|([{PART}]+(?:\(\))?)"  # compiled by whom it serves
OPTION = r"(--?[A-Za-z][\w-]*|-\d+(?:\.\d+)*)[.:]*"


def identifiers(text: str, with_parts: bool) -> list[str]:
    """Return the distinct identifiers of `text`, case-folded, in byte order.

    An identifier joins its parts with `_ . / \\ : @ # + ~ -` (ERR-1042, foo.bar_baz(), /etc/fstab,
    v1.2.3), changes its case between words (CamelCase), is called (run()) or is like C++. Ordinary
    compounds (well-known, and/or, 3.14, e.g., mRNA) are none. `with_parts` adds what can be looked
    for on its own: names in a path or a dotted name that are identifiers themselves. So is an
    option of a command, with its dashes (--force, -x), and a number with its sign (-40).
    """
    found: set[str] = set()
    for token in set(re.findall(TOKEN, unicode_form(text))):
        if 1 < len(token) <= LONGEST:
            found.update(names_in(token, with_parts))
    return sorted(found)


@lru_cache(maxsize=20_000)
def names_in(token: str, with_parts: bool) -> tuple[str, ...]:
    """Return the identifiers of one token; remembered, since a text's tokens come again."""
    if option := re.fullmatch(OPTION, token):
        return (option[1].lower(),)
    bare = stripped(token)
    if not (is_identifier(bare) or (token.endswith("()") and len(bare) > 1)):
        return ()
    names = [bare]
    if with_parts:
        parts = re.split(r"[./\\:@#]+", bare) + re.split(r"[/\\]", bare)[-1:]
        names += [part for part in parts if is_identifier(part)]
    return tuple(map(small, names))


def small(name: str) -> str:
    """Return a name in small letters, of whatever language: all of i, dotted or not, are one."""
    return name.casefold().replace("i\u0307", "i").replace("\u0131", "i")


def stripped(token: str) -> str:
    """Take punctuation off a token's ends, but not what makes C++, C#, /etc and __init__."""
    token = token.removesuffix("()").rstrip(".:@~$-/\\")
    if not re.fullmatch(r"[A-Za-z]{1,2}(?:\+\+|#)", token):
        token = token.rstrip("+#.:@~$-/\\")
    return token.lstrip(".:@#+~$-\\")


def is_identifier(token: str) -> bool:
    """Tell whether a token without outer punctuation is more than a word or a number."""
    if token.isalnum():
        return bool(re.search(r"[a-z]{2}[A-Z][a-z]", token))
    words = [word for word in re.split(r"[^0-9A-Za-zÀ-ɏͰ-ԯ]+", token) if word]
    if not words:
        return False
    if "_" in token or "::" in token or "\\" in token or re.search(r"[A-Za-z][+#]", token):
        return True
    if all(word.isdigit() for word in words):
        return len(words) > 2
    if any(character.isdigit() for character in token):
        return True
    if "/" in token:
        return token.startswith("/") or token.count("/") > 1 or "." in token
    lengths = [len(part) for part in token.split(".")]
    return len(lengths) > 1 and min(lengths) > 0 and max(lengths) > 1


LONGEST_NAME = 255


def whole_name(text: str) -> str:
    """Return a name in one case with single spaces; "" for what is too long for a name."""
    return " ".join(small(unicode_form(text)).split()) if len(text) <= LONGEST_NAME else ""


LETTER = re.compile(r"[^\W\d_]")
# Keys that programs give: digests, UUIDs, and the JSON array of a table with several key columns.
CODE = re.compile(r"[0-9a-f]{8}[0-9a-f-]{8,}|\[.*\]", re.IGNORECASE | re.DOTALL)
SUFFIX = re.compile(r"(?<=.)\.[^\W_]{1,8}$")
WITHIN_FILE = re.compile(r"(?<=.)(\.[^\W_]{1,8})[?#].*$", re.DOTALL)


def name_field(source_key: str) -> list[str]:
    """Return the words of a source key, and then the names that it is asked for by, each once.

    These are the whole key, the file's name (its last part, without what follows ? or #) and that
    without its suffix. What has no letters is left out; a code has no names: [""]. Words are those
    of a path that ends in a file with a suffix: other keys are ids, whose words mislead.
    """
    if CODE.fullmatch(source_key):
        return [""]
    parts = [part for part in re.split(r"[/\\]", source_key) if part and part[-1] != ":"]
    file_name = WITHIN_FILE.sub(r"\1", parts[-1]) if parts else ""
    stem = SUFFIX.sub("", file_name)
    names = dict.fromkeys(map(whole_name, (source_key, file_name, stem)))
    words: list[str] = []
    if stem != file_name and LETTER.search(stem):
        parted = (word for part in (*parts[:-1], stem) for word in re.split(r"[\W_]+", part))
        words = [file_name, *filter(str.isalpha, parted)]  # as it stands, it can be quoted
    return [" ".join(words), *(name for name in names if LETTER.search(name))]
