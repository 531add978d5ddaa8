"""Which of the documents that go by its name a link means."""

from collections.abc import Sequence

# document id, source key, kind of name, full name
Candidate = tuple[int, str, str, str]
NAME_KINDS = ("path", "stem", "alias", "title")


def resolve_link(
    kind: str, target: str, path: str, source_key: str, candidates: Sequence[Candidate]
) -> int | None:
    """Return the id of the document meant, None where there is none.

    A key, a path and an address must be met as a whole. A wiki link and a name mean, of the
    documents of that name, one below the folders written, else one whose own name it is, before an
    alias and a title, then one written alike, then the nearest in folders, then the shortest path.
    Folders that no document of the name is in are passed over where one document only has the name:
    it was moved. Does not depend on the candidates' order.
    """
    fitting = [
        candidate
        for candidate in candidates
        if (
            candidate[1] == target
            if kind == "key"
            else candidate[2:] == (kind, path)
            if kind in ("path", "uri")
            else candidate[2] in NAME_KINDS
        )
    ]
    if kind == "wiki" and "/" in path:
        below = [each for each in fitting if f"/{each[3]}".endswith(f"/{path}")]
        if below:
            fitting = below
        elif len({each[0] for each in fitting}) > 1:
            fitting = []
    written = target.partition("#")[0].partition("|")[0].strip().rpartition("/")[2]
    folders = source_key.split("/")[:-1]

    def order(candidate: Candidate) -> tuple[bool, int, bool, int, int, str, int]:
        document_id, key, name_kind, full_name = candidate
        *own_folders, own_name = key.split("/")
        shared = 0
        for ours, theirs in zip(folders, own_folders, strict=False):
            if ours != theirs:
                break
            shared += 1
        return (
            "/" not in path or full_name != path,
            NAME_KINDS.index(name_kind) if name_kind in NAME_KINDS else 0,
            written not in (own_name, own_name.rpartition(".")[0]),
            -shared,
            len(own_folders),
            key,
            document_id,
        )

    return min(fitting, key=order)[0] if fitting else None
