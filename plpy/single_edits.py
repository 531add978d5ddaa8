"""The words that one typo may have turned into a given one."""

LATIN = "abcdefghijklmnopqrstuvwxyz"
LAST_LATIN = "\u024f"
GREEK = "αβγδεζηθικλμνξοπρςστυφχψωάέήίόύώ"
CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяё"
ACCENTED = {
    "a": "àáâãäåāăą", "c": "çćč", "d": "ďđ", "e": "èéêëēęě", "g": "ğ", "i": "ìíîïīı", "l": "ł",
    "n": "ñńň", "o": "òóôõöøőō", "r": "ř", "s": "śşšș", "t": "ťţț", "u": "ùúûüůűū", "y": "ýÿ",
    "z": "źżž",
}  # fmt: skip


def single_edits(word: str) -> list[str]:
    """Return the words from which one edit makes `word` (lower case), each once, in byte order.

    Edits are letters inserted, deleted, replaced and two neighbours swapped; letters are those of
    the alphabet that the word begins in and its own, and accents may be missing. Some 60 words a
    letter. None where the alphabet is not Latin, Greek or Cyrillic.
    """
    first = word[:1]
    if not first.isalpha():
        return []
    alphabet = next((letters for letters in (GREEK, CYRILLIC) if first in letters), "")
    if not alphabet:
        if first > LAST_LATIN:
            return []
        alphabet = LATIN
    letters = sorted(set(alphabet) | {letter for letter in word if letter.isalpha()})
    edits: set[str] = set()
    for place in range(len(word) + 1):
        start, end = word[:place], word[place:]
        edits.update(start + letter + end for letter in letters)
        if end:
            edits.add(start + end[1:])
            edits.update(start + letter + end[1:] for letter in letters)
            edits.update(start + letter + end[1:] for letter in ACCENTED.get(end[0], ""))
        if len(end) > 1:
            edits.add(start + end[1] + end[0] + end[2:])
    return sorted(edits - {word, ""})
