"""What a document is asked for by: its name and the parts of its source key."""

import re

LONGEST = 255


def whole_name(text: str) -> str:
    """Return a name in one case with single spaces; "" for what is too long for a name."""
    return " ".join(text.casefold().split()) if len(text) <= LONGEST else ""


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
