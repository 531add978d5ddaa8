"""What a search asks of the nodes that hold passages, as typed requests and answers.

A search talks to a port. It is answered in process, or by other databases whose answers are
merged. Times travel as milliseconds that are left, never as a clock's reading. A
request has nothing that must be trusted. Whoever may search may make one, and a node answers by the
rights of its own session.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pgblend.plpy.base.session import Rows

# The lexical arm: statistics and lists, known and similar lexemes.


class CountRequest(NamedTuple):
    """Which lexemes to count: `configs` has the text search configuration of each.

    Documents are counted instead of chunks where `by_document`.
    """

    collection_ids: Sequence[int]
    configs: Sequence[str]
    lexemes: Sequence[str]
    by_document: bool
    timeout_ms: float


class Counts(NamedTuple):
    """Exact integers over visible, live chunks (or documents): those of two nodes add up.

    `total_length` is in lexeme occurrences; `df` says how many have each lexeme. Where the lexemes
    are of several configurations, `language_n` and `language_df` say the same of chunks of each
    one's own. Else they are empty.
    """

    n: int
    total_length: int
    df: Sequence[int]
    language_n: Sequence[int] = ()
    language_df: Sequence[int] = ()


class Operand(NamedTuple):
    """A phrase that must stand in some chunk of a document, or an exclusion in none."""

    alternative: int
    operand: str  # a tsquery
    excluded: bool


class Part(NamedTuple):
    """What is looked for in the chunks of one text search configuration.

    `weights` are the idf of the lexemes, times their boosts: statistics come with the request. A
    chunk must hold the `condition`, a tsquery; a document one of the alternatives of `operands`.
    """

    config: str
    lexemes: Sequence[str]
    weights: Sequence[float]
    condition: str | None
    operands: Sequence[Operand] = ()


class Formula(NamedTuple):
    """BM25's constants; field_weights are those of title, headings and body."""

    k1: float
    b: float
    average_length: float
    field_weights: Sequence[float]


class ListRequest(NamedTuple):
    """Which candidates to find: the best `depth` of all parts, of those that pass the filter."""

    collection_ids: Sequence[int]
    parts: Sequence[Part]
    formula: Formula
    filter: str | None
    by_document: bool
    depth: int
    timeout_ms: float


class CandidateList(NamedTuple):
    """Candidates as columns, best first, ties by (document, chunk index).

    `parts` has the place of the request's part that each is from. `perfect` is what none can reach;
    None for cosines, and where nothing was found.
    """

    chunk_ids: Sequence[int] = ()
    document_ids: Sequence[int] = ()
    chunk_indexes: Sequence[int] = ()
    scores: Sequence[float] = ()
    parts: Sequence[int] = ()
    perfect: float | None = None


class Sample(NamedTuple):
    """A sample of the chunks that have any of a query's lexemes, `total` in all.

    Of `looked_at` chunks taken at random, `chunk_ids` are those that pass filter and conditions.
    Chunks were taken whose hash is at most `last`; the largest one where all were.
    """

    total: int
    looked_at: int
    chunk_ids: Sequence[int]
    last: int


class KnownRequest(NamedTuple):
    """Which of some lexemes, each of a configuration, does the vocabulary have?"""

    collection_ids: Sequence[int]
    configs: Sequence[str]
    lexemes: Sequence[str]


class SimilarRequest(NamedTuple):
    """Which lexemes of a configuration may some stand for; `words` is what they were made from."""

    collection_ids: Sequence[int]
    config: str
    words: Sequence[str]
    lexemes: Sequence[str]
    timeout_ms: float


class SimilarLexeme(NamedTuple):
    """A lexeme of the vocabulary that the one at a `place` of the request may stand for.

    It was found by edits of the word. Where these found nothing for this word it `is_alike`. It is
    found by trigrams, with the `likeness` by which the nodes' lists are cut. `cost` is that of the
    edits, infinite where it is too high.
    """

    place: int
    lexeme: str
    cost: float
    is_alike: bool = False
    likeness: float = 0.0


class LexicalPort(Protocol):
    """Where the lexical arm finds lexemes and passages."""

    def words(self, query: str, collection_ids: Sequence[int], language: str | None) -> Rows:
        """Parse a query under each configuration in use, or `language` alone (_query_lexemes)."""

    def check_index(self, collection_ids: Sequence[int], is_strict: bool) -> None:
        """End with PB002 where an index is missing; if strict, PB003 where nothing is stored."""

    def make_ready(self, collection_ids: Sequence[int]) -> bool:
        """Read what is new of the index, which counts against no limit; tell whether any was."""

    def count(self, request: CountRequest) -> Counts:
        """Count what BM25 needs to know."""

    def find(self, request: ListRequest) -> CandidateList:
        """Find the best candidates by statistics that the request has."""

    def sample(self, request: ListRequest) -> Sample:
        """Take a sample of `depth` of what could be found."""

    def known(self, request: KnownRequest) -> Sequence[bool]:
        """Tell of each lexeme whether the vocabulary has it."""

    def similar(self, requests: Sequence[SimilarRequest]) -> Sequence[Sequence[SimilarLexeme]]:
        """Find lexemes that others may stand for, those of one place side by side."""


# Passages: rows, texts and vectors by id, ages, neighbours in the graph.


class Passage(NamedTuple):
    """A stored passage with its document's columns; `metadata` is JSON.

    `may_repeat` is false where surely no other passage that may be seen has the same text. Who asks
    several nodes knows it of none, since none knows the others' texts.
    """

    chunk_id: int
    content: str
    text_search_config: str
    start_offset: int | None
    end_offset: int | None
    start_line: int | None
    end_line: int | None
    pages: Sequence[int] | None
    metadata: str
    document_id: int
    collection: str
    source_key: str
    uri: str | None
    title: str | None
    may_repeat: bool


class Holder(NamedTuple):
    """A passage that has a certain text, and its document."""

    chunk_id: int
    content: str
    document_id: int
    collection: str
    source_key: str
    uri: str | None
    title: str | None


class PassagesRequest(NamedTuple):
    """Which passages to read, and in which collections others may repeat them; none: unasked."""

    chunk_ids: Sequence[int]
    collection_ids: Sequence[int]
    timeout_ms: float


class HoldersRequest(NamedTuple):
    """Which of some passages have one of some texts."""

    chunk_ids: Sequence[int]
    contents: Sequence[str]
    timeout_ms: float


class AgesRequest(NamedTuple):
    """How old are passages?"""

    chunk_ids: Sequence[int]
    timeout_ms: float


class LanguagesRequest(NamedTuple):
    """Which text search configurations have documents?"""

    document_ids: Sequence[int]
    timeout_ms: float


class PassingRequest(NamedTuple):
    """Which of some passages pass each of some filters (JSON)?"""

    chunk_ids: Sequence[int]
    filters: Sequence[str]
    timeout_ms: float


class DistancesRequest(NamedTuple):
    """How far are values of passages from origins?

    `keys` are those of filters. An origin is JSON: a number, a date or "now".
    """

    chunk_ids: Sequence[int]
    keys: Sequence[str]
    origins: Sequence[str]
    timeout_ms: float


class Distance(NamedTuple):
    """How far the nearest value of a passage is from the origin at a `place`; dates in days."""

    place: int
    chunk_id: int
    distance: float


class NamesRequest(NamedTuple):
    """Which documents of collections have some source keys or URIs?"""

    names: Sequence[str]
    collection_ids: Sequence[int]
    timeout_ms: float


class NamedDocument(NamedTuple):
    """A document that is there, by its source key or URI."""

    name: str
    document_id: int


class CosinesRequest(NamedTuple):
    """How near are passages to a vector, in an embedding space?"""

    space: str
    vector: str
    chunk_ids: Sequence[int]
    timeout_ms: float


class VectorsRequest(NamedTuple):
    """Which vectors do passages have in an embedding space?"""

    space: str
    chunk_ids: Sequence[int]
    timeout_ms: float


class NeighboursRequest(NamedTuple):
    """Which edges do some nodes have: one step of a walk, at most so many?

    Nodes are 4 · chunk id + 1 and 4 · document id. The heaviest edges come first, ties by
    (neighbour, node); a node's edges are where its passage or document is.
    """

    nodes: Sequence[int]
    direction: str
    edge_types: Sequence[str] | None
    most: int
    timeout_ms: float


class Edge(NamedTuple):
    """An edge of a node; against its direction where `is_reverse`."""

    node: int
    neighbour: int
    is_reverse: bool
    edge_type: str
    weight: float


class NodesRequest(NamedTuple):
    """Which passage of the collections, that passes the filter, stands for each node?

    Of a document it is the one nearest to the vector, where there is one.
    """

    nodes: Sequence[int]
    collection_ids: Sequence[int]
    filter: str | None
    language: str | None
    vector: str | None
    space: str | None
    timeout_ms: float


class NodePassage(NamedTuple):
    """The passage that stands for a node; chunk id 0 is a node that is not there.

    A node is gone where no server has it.
    """

    node: int
    chunk_id: int
    document_id: int
    chunk_index: int


class PassagePort(Protocol):
    """Where a search reads passages; what a node lacks, or its session may not see, is left out.

    In process a request takes its time, as every statement of the search does; another
    database ends it after `timeout_ms`.
    """

    def passages(self, request: PassagesRequest) -> Sequence[Passage]:
        """Return the passages that are there."""

    def holders(self, request: HoldersRequest) -> Sequence[Holder]:
        """Return those of the passages that have one of the texts."""

    def ages_days(self, request: AgesRequest) -> Sequence[float | None]:
        """Return how old the passages are, in their order; None where nobody knows."""

    def languages(self, request: LanguagesRequest) -> Sequence[str | None]:
        """Return the text search configurations of documents, in their order."""

    def passing(self, request: PassingRequest) -> Sequence[Sequence[int]]:
        """Return for each filter the passages that pass it."""

    def distances(self, request: DistancesRequest) -> Sequence[Distance]:
        """Return how far values are from origins; none of a passage without such a value."""

    def named_documents(self, request: NamesRequest) -> Sequence[NamedDocument]:
        """Return the documents that have some source keys or URIs, by id."""

    def cosines(self, request: CosinesRequest) -> Mapping[int, float | None]:
        """Return exact cosines of those that have a vector; None for a zero vector."""

    def vectors(self, request: VectorsRequest) -> Mapping[int, str]:
        """Return the passages' vectors as texts."""

    def neighbours(self, request: NeighboursRequest) -> Sequence[Edge]:
        """Return the edges of nodes, the heaviest first."""

    def node_passages(self, request: NodesRequest) -> Sequence[NodePassage]:
        """Return the passages that stand for nodes."""


# The whole store: passages, vectors, the lexical index.


class Space(NamedTuple):
    """An embedding space.

    `table_id` is what the snapshot sees: another one may have the name since. `vectors` is the
    planner's row count, -1 where it has none; `has_policy`: row security holds for who searches.
    `asked_dimensions` are those that the model is asked for, where it gives others by itself.
    `bridged_from` is the space by which passages that still wait for a vector are found.
    """

    name: str
    model: str
    dimensions: int
    is_active: bool
    storage: str
    vector_type: str
    ef_search: int | None
    table_name: str
    table_id: int
    vectors: float
    has_policy: bool
    asked_dimensions: int | None = None
    bridged_from: str | None = None


class Held(NamedTuple):
    """Whether a space is what the search took it for, and what it has of the passages searched."""

    is_there: bool
    has_vectors: bool
    is_waiting: bool


class VectorRequest(NamedTuple):
    """What the vector arm is to find.

    `is_everywhere`: the collections are all that the caller may read. Phrases and exclusions of
    `binding`, a query, must hold; they alone do not make it compare all vectors.
    """

    vector: str | None
    space: Space
    collection_ids: Sequence[int]
    is_everywhere: bool
    binding: str | None
    filter: str | None
    language: str | None
    scan: str
    ef_search: int | None
    rescore_factor: float
    depth: int


class LiteralRequest(NamedTuple):
    """A list without the lexical index: `kind` lexical by cover density, fuzzy by word_similarity.

    `words` are those of the query, without operators.
    """

    kind: str
    query: str
    words: str
    collection_ids: Sequence[int]
    filter: str | None
    language: str | None
    depth: int
