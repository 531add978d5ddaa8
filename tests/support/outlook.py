"""Outlook's .msg files: an OLE file with a stream for each property."""

import struct
from dataclasses import dataclass
from typing import Any

_SECTOR, _SMALL_SECTOR, _LARGE = 512, 64, 4096
_FREE, _END, _OF_TABLE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_STORAGE, _STREAM, _ROOT = 1, 2, 5

Tree = dict[str, Any]


def properties(values: dict[str, str | bytes], head: int = 32) -> Tree:
    """Return the streams of a message by property tag.

    `head` is 8 for files, 24 for mails within.
    """
    tree: Tree = {"__properties_version1.0": bytes(head)}
    for tag, value in values.items():
        is_text = isinstance(value, str)
        kind, data = ("001F", value.encode("utf-16-le")) if is_text else ("0102", value)
        tree[f"__substg1.0_{tag}{kind}"] = data
    return tree


class _Sectors:
    """Data cut into sectors, and the table that says which follows which."""

    def __init__(self, size: int) -> None:
        self.size, self.table, self.data = size, [], b""

    def add(self, data: bytes) -> int:
        first, count = len(self.table), -(-len(data) // self.size)
        self.table += [*range(first + 1, first + count), _END] if count else []
        self.data += data.ljust(count * self.size, b"\0")
        return first if count else _END


@dataclass
class _Entry:
    name: str
    kind: int
    data: bytes = b""
    following: int = _FREE
    child: int = _FREE


def _add(entries: list[_Entry], name: str, what: Tree | bytes) -> int:
    number = len(entries)
    if isinstance(what, bytes):
        entries.append(_Entry(name, _STREAM, what))
        return number
    entries.append(_Entry(name, _STORAGE if number else _ROOT))
    last = None
    for inner, value in what.items():
        child = _add(entries, inner, value)
        if last is None:
            entries[number].child = child
        else:
            entries[last].following = child
        last = child
    return number


def ole(tree: Tree) -> bytes:
    """Return an OLE file of storages (dicts) and streams (bytes)."""
    entries: list[_Entry] = []
    _add(entries, "Root Entry", tree)
    sectors, small = _Sectors(_SECTOR), _Sectors(_SMALL_SECTOR)
    starts = [(small if len(entry.data) < _LARGE else sectors).add(entry.data) for entry in entries]
    starts[0], entries[0].data = sectors.add(small.data), small.data
    folder = b""
    for entry, start in zip(entries, starts, strict=True):
        name = entry.name.encode("utf-16-le") + b"\0\0"
        links = (_FREE, entry.following, entry.child)
        folder += struct.pack("<64sHBB3I36xIQ", name, len(name), entry.kind, 1, *links, start,
                              len(entry.data))  # fmt: skip
    first_folder = sectors.add(folder)
    small_table = sectors.add(struct.pack(f"<{len(small.table)}I", *small.table))
    per_sector = _SECTOR // 4
    count = 1
    while len(sectors.table) + count > count * per_sector:
        count += 1
    place = len(sectors.table)
    table = sectors.table + [_OF_TABLE] * count
    table += [_FREE] * (count * per_sector - len(table))
    head = struct.pack("<8s16xHHHHH6xIIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3,
                       0xFFFE, 9, 6, 0, count, first_folder, 0, _LARGE, small_table, 1, _END, 0,
                       place)  # fmt: skip
    others = [*range(place + 1, place + count), *[_FREE] * (109 - count)]
    return (
        head + struct.pack("<108I", *others) + sectors.data + struct.pack(f"<{len(table)}I", *table)
    )
