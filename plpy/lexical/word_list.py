"""What the lexical arm gives to fusion; without numpy, which a server may lack."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pgblend.plpy.base.ports import CandidateList
from pgblend.plpy.lexical.configuration import Meaning


class WordList(NamedTuple):
    """Candidates by words.

    `every_word`: passages have every word of the query, names aside; not looked at for documents
    and several languages. `known` is the share of its words, by idf, that passages have, of several
    languages the largest. `may_be_named` is false where no document is called as the query asks.
    `corrections` of each row say in JSON what stands for which lexeme, `synonyms` what words of the
    query stand for. `asked` is how many words it asks for. Where no other list is to be fused with
    this one, every_word, known and asked are not looked at.
    """

    found: CandidateList
    every_word: bool = False
    may_be_named: bool = True
    corrections: Sequence[str | None] = ()
    meanings: Mapping[str, Meaning] = {}
    synonyms: Sequence[Mapping[str, Sequence[str]]] = ()
    known: float = 0.0
    asked: int = 0
