"""The snippets of a page: those that came with their passages, and the rest."""

from collections.abc import Mapping, Sequence
from itertools import count

from pgblend.plpy.fusion.pool import ArmList
from pgblend.plpy.ports import Passage
from pgblend.plpy.search.lists import corrected_lexemes
from pgblend.plpy.search.store import StorePort
from pgblend.plpy.session import Database
from pgblend.plpy.text.snippets import Sought, page_snippets


class Highlights:
    """What snippets of one search mark: its query, and what the fuzzy arm took for its words.

    `meanings` has what the query looks for in each configuration, where a list by words knows it.
    """

    def __init__(self, query: str | None, lists: Sequence[ArmList]) -> None:
        named = {one.arm: one for one in lists}
        lexical, fuzzy = named.get("lexical"), named.get("fuzzy")
        self.query = query
        self.meanings = lexical.meanings if lexical else {}
        self.notes = {}
        if fuzzy:
            notes = map(fuzzy.notes.get, count(1))
            self.notes = dict(zip(fuzzy.found.chunk_ids, notes, strict=False))  # counts are endless

    def corrections(self, chunk_id: int) -> tuple[str, ...]:
        """Return the lexemes that the fuzzy arm took for unknown words where it found a passage."""
        return corrected_lexemes(self.notes.get(chunk_id) or {})

    def sought(self, passage: Passage) -> Sought:
        """Return what a passage was found by."""
        meaning = self.meanings.get(passage.text_search_config)
        return Sought(self.query, self.corrections(passage.chunk_id), meaning)


def shown_snippets(
    db: Database, store: StorePort, highlights: Highlights, passages: Sequence[Passage]
) -> Mapping[int, str]:
    """Return the snippets of passages by chunk id; those that the store made are taken."""
    ready = store.snippets(highlights)
    rest = [one for one in passages if one.chunk_id not in ready]
    return {**ready, **made_snippets(db, rest, list(map(highlights.sought, rest)))}


def made_snippets(
    db: Database, passages: Sequence[Passage], sought: Sequence[Sought]
) -> dict[int, str]:
    """Make the snippets of passages, each with what it was found by; return them by chunk id."""
    contents = [one.content for one in passages]
    configs = [one.text_search_config for one in passages]
    snippets = page_snippets(db, contents, sought, configs)
    return {one.chunk_id: made for one, made in zip(passages, snippets, strict=True)}
