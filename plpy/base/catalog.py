"""Every setting, in one place: its name, type, default, rule and, below it, its meaning.

What checks, resolves or documents settings reads this; blend.setting_catalog() is made of it.
Objects are merged key by key over their defaults; one with a key "kind" is a whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, NamedTuple, TypedDict

from pgblend.plpy.base.setting_rules import (
    Decaying,
    Fields,
    Filter,
    Flag,
    Items,
    Kinds,
    KnownValue,
    Nullable,
    Number,
    NumberList,
    NumbersOrOne,
    Origin,
    Pattern,
    Rule,
    Scores,
    Switch,
    Text,
    Whole,
    keys_of,
    numbers,
    setting,
)

AMOUNT = Number(0, 1_000_000)
RANK = Whole(1, 10_000)
SHARE = Number(0, 1)
LEXICAL_CACHE_BYTES = 6_000_000
UNIT = Text(["absolute", "attainable"])
BY_ARM = ("fuzzy", "lexical", "vector")
# Of a row that a search can do without; numbers, ids and what is degraded are always told.
SPARED = [
    *("collection", "uri", "title", "snippet", "content", "start_line", "end_line", "pages"),
    *("metadata", "source_key", "context_before", "context_after", "arms", "details"),
]
NORMALIZATION_METHODS = ["minmax", "theoretical", "absolute", "zscore", "logistic", "spread"]
Texts = Annotated[list[str], Items(Text(most=10_000), most=10)]
LongText = Annotated[str | None, Nullable(Text(most=100_000))]


class Cursor(TypedDict, total=False):
    """A row of a page, after which the next begins."""

    score: float
    document_id: int
    chunk_index: int
    depth: int
    experiment: int
    rival_depth: int


class Blend(TypedDict, total=False):
    """Weights of the parts of a blended score, or tiers of them by fused rank."""

    kind: str
    max_rank: int | None
    fused: float
    rerank: float
    position: float
    tiers: "Sequence[Blend]"


BLEND_TIER = Fields(
    {"max_rank": Nullable(RANK), "fused": SHARE, "rerank": SHARE}, required=["fused", "rerank"]
)
BLEND_PARTS = ["fused", "rerank", "position"]
BLEND = Kinds(
    {
        "tiers": Fields({"tiers": Items(BLEND_TIER, rise="max_rank")}, required=["tiers"]),
        "position": Fields(dict.fromkeys(BLEND_PARTS, SHARE), required=BLEND_PARTS),
    }
)


class Bonus(TypedDict, total=False):
    """What high ranks add."""

    kind: str
    depth: int
    max_rank: int
    amount: float
    unit: str
    tiers: "Sequence[Bonus]"


BONUS_TIER = Fields({"max_rank": RANK, "amount": AMOUNT}, required=["max_rank", "amount"])
BONUS_TIERS = {"tiers": Items(BONUS_TIER, rise="max_rank"), "unit": UNIT}
BONUS = Kinds(
    {
        "none": Fields({}),
        "both_top": Fields(
            {"depth": RANK, "amount": AMOUNT, "unit": UNIT}, required=["depth", "amount"]
        ),
        "tiers": Fields(BONUS_TIERS, required=["tiers"]),
    }
)


class Boost(TypedDict):
    """What passes a filter has its score multiplied."""

    filter: Annotated[Mapping[str, Any], Filter()]
    factor: Annotated[float, Number(0, 100)]


class Synonyms(TypedDict, total=False):
    """Words that stand for each other, or for others."""

    words: Annotated[list[str], Items(Text(most=200), most=100)]
    to: Annotated[list[str], Items(Text(most=200), most=100)]
    language: Annotated[str | None, Nullable(Text(most=100))]
    weight: Annotated[float, SHARE]


class Decay(TypedDict, total=False):
    """What a score loses with the distance of a value from an origin."""

    field: Annotated[str, Text(most=200)]
    origin: Annotated[float | str, Origin()]
    half: Annotated[float, Number(0.000001, 1e15)]
    flat: Annotated[float, Number(0, 1e15)]
    shape: Annotated[str, Text(["exp", "gauss", "linear"])]
    least: Annotated[float, SHARE]


class ForQuery(TypedDict):
    """Documents, by their source keys or URIs, for the queries of a pattern."""

    query: Annotated[str, Text(most=1000)]
    documents: Annotated[list[str], Items(Text(most=2000), most=100)]


FOR_QUERIES = Items(Fields(keys_of(ForQuery), required=["query", "documents"]), most=1000)


class GivenExpansion(TypedDict, total=False):
    """An expansion of the query that the caller gives."""

    lexicalQueries: Texts
    vectorQueries: Texts
    hyde: LongText
    subQuestions: Annotated[list[str], Items(Text(most=10_000), most=4)]
    embeddings: Annotated[
        list[list[float]], Items(Items(Number(-1e38, 1e38), most=16_000), most=15)
    ]
    notes: LongText
    queryLanguage: Annotated[str | None, Nullable(Text(most=100))]
    promptVersion: Annotated[str | None, Nullable(Text(most=1000))]
    cached: Annotated[bool, Flag()]


class Said(TypedDict):
    """A message of a chat."""

    role: Annotated[str, Text(["assistant", "user"])]
    content: Annotated[str, Text(most=4000)]


class Feedback(TypedDict):
    """Pseudo-relevance feedback."""

    passages: Annotated[int, Whole(0, 100)]
    weight: Annotated[float, Number(0, 100)]


class Graph(TypedDict):
    """How a search follows the graph."""

    weight: Annotated[float, AMOUNT]
    depth: Annotated[int, Whole(0, 10)]
    direction: Annotated[str, Text(["both", "in", "out"])]
    edge_types: Annotated[list[str] | None, Nullable(Items(Text(most=200), most=100))]
    seeds: Annotated[int, Whole(1, 10_000)]
    node_limit: Annotated[int, Whole(1, 100_000)]
    combine: Annotated[str, Text(["fused", "sum"])]


Mmr = TypedDict(  # lambda is a keyword
    "Mmr", {"lambda": Annotated[float, SHARE], "pool": Annotated[int, Whole(1, 1000)]}
)


class SubQuestions(TypedDict):
    """What a question is split into."""

    most: Annotated[int, Whole(0, 4)]
    weight: Annotated[float, Number(0, 100)]


class Normalization(TypedDict, total=False):
    """How scores are made comparable."""

    method: Annotated[str, Text(NORMALIZATION_METHODS)]
    center: Annotated[
        dict[str, float], Fields(dict.fromkeys(BY_ARM, Number(-1_000_000, 1_000_000)))
    ]
    scale: Annotated[dict[str, float], Fields(dict.fromkeys(BY_ARM, Number(0.000001, 1_000_000)))]


URL = Pattern(
    r"^(https?://[^/\s@?#]+(/[^\s@?#]*)?|unix:/.+)$",
    "http://host:port or unix:/path, without a password or a key",
    "url",
)
ADDRESS = Pattern(
    r"^(unix:/.{1,100}|(localhost|[0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9a-fA-F:]+\]):[0-9]{1,5})$",
    "localhost:port, the host's address in numbers with a port, or unix:/path",
    "address",
)
LSN = Pattern(
    r"^[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}$", 'a place in the log, such as "0/16B3748"', "pg_lsn"
)
DATE = KnownValue(
    "SELECT pgblend._iso_timestamp($1) IS NOT NULL AS found",
    'a date or a timestamp of ISO 8601, such as "2026-01-31"',
    "date",
)
CONFIGURATION = KnownValue(
    "SELECT pgblend._regconfig($1) IS NOT NULL AS found",
    "a text search configuration (SELECT cfgname FROM pg_ts_config)",
    "text_search_config",
)
PROFILE = KnownValue(
    "SELECT EXISTS (SELECT FROM pgblend_data.profile AS p WHERE p.name = $1) AS found",
    "the name of a profile (SELECT name FROM blend.profiles)",
    "profile",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SearchSettings:
    """What may be given in a call, by a collection or a profile, and for the whole database."""

    abstain_below: float | None = setting(None, Number(0, 1))
    """ask gives no answer, and asks no model, where the best passage has less relevance."""

    after: Cursor = setting(
        {},
        NumberList(
            ["chunk_index", "depth", "document_id", "experiment", "rival_depth", "score"],
            0,
            9223372036854775807,
        ),
    )
    """The row after which a page begins: details -> 'cursor' of the last row of the page before.
    Its depth is the candidate_depth of the first page, and holds for all pages. So does the
    experiment that the first page took part in."""

    answer_tokens: int = setting(500, Whole(1, 100000))
    """The most tokens of an answer (ask)."""

    b: float = setting(0.75, Number(0, 1))
    """BM25: how much a passage's length counts."""

    blend: Blend = setting(
        {"kind": "tiers", "tiers": [{"fused": 0.4, "rerank": 0.6, "max_rank": None}]},
        BLEND,
    )
    """How fused and rerank scores are blended. Tiers take their weights by the fused rank. Kind
    position adds 1 - (rank - 1) / n as a third part. Weights count by their share."""

    bonus: Bonus = setting({"kind": "none"}, BONUS)
    """What high ranks add: none, both_top (the first depth of two lists) or tiers (once, by the
    best rank in any list). The unit is absolute, or attainable: a fraction of the best sum."""

    boosts: Sequence[Boost] = setting(
        [], Items(Fields(keys_of(Boost), required=["filter", "factor"]), most=100)
    )
    """Multiply the fused score of passages that pass a filter: [{"filter": {"brand": "acme"},
    "factor": 2}]. Factors of several filters multiply. Where a score would leave [0, 1], all are
    divided by the largest."""

    candidate_depth: int = setting(100, Whole(1, 10000))
    """How many candidates each arm gives to fusion. It alone sets the pool, so scores do not depend
    on limit or offset."""

    columns: Sequence[str] = setting([], Items(Text(SPARED), most=len(SPARED)))
    """In a call of a search function: which columns of its rows are wanted, such as ["source_key",
    "content"]. The others are NULL, and take no time. rank, score, relevance, document_id, chunk_id
    and degraded are always there, and in an experiment all are. []: all."""

    context_chars: dict[str, float] = setting(
        {"after": 0, "before": 0}, NumbersOrOne(["after", "before"], 0, 20000)
    )
    """How many characters of the document are given before and after a passage, in context_before,
    context_after and contexts. A number, such as 500, means both sides."""

    context_order: str = setting("score", Text(["score", "structure", "document"]))
    """The order of a context's parts. score: by score, then structure (signature, code, doc,
    metadata). structure: by structure, then score. document: each document as it was written, the
    best first."""

    coverage: float | None = setting(None, Number(0.5, 0.99))
    """End the list where it holds a relevant passage with this probability, and no shorter list
    does (split-conformal): of questions like those judged, so often. Only a calibrated collection
    tells; else the list stays whole, and degraded says so."""

    decays: Sequence[Decay] = setting(
        [], Items(Decaying(keys_of(Decay), required=["field", "origin", "half"]), most=20)
    )
    """Lower the fused score with the distance of a value from an origin, to a half at the distance
    `half`: [{"field": "price", "origin": 100, "half": 50}], [{"field": "$date", "origin": "now",
    "half": 30}]. Distances of dates are in days. `shape` is exp (by default), gauss or linear (none
    is left at twice `half`); up to the distance `flat` nothing is lost, and `least` is always left.
    Of an array the nearest value counts; without such a value nothing is lost."""

    dedup: str = setting("exact", Text(["off", "exact", "overlap", "near"]))
    """Which repetitions of a better row are left out. exact: the same content. overlap: also spans
    of one document that overlap. near: also texts that are almost the same."""

    dedup_overlap: float = setting(0.5, Number(0.01, 1))
    """The share of the shorter span from which on two spans overlap."""

    dedup_similarity: float = setting(0.8, Number(0.01, 1))
    """The Jaccard index of three-word runs from which on two texts are almost the same."""

    ef_search: int | None = setting(None, Whole(1, 1000))
    """The size of HNSW's search list: more is slower and more exact. null: as the space was tuned
    (tune_embedding_space), else 100, and up to 400 where passages are left out of a large index. It
    is at least the candidates asked for: fewer would take a second walk."""

    expand: str | bool = setting("auto", Switch(["auto", "on", "off"]))
    """Whether a model expands the query. auto goes by the mode: thorough does. It is skipped where
    the words alone have found the answer (strong_signal)."""

    expansion: GivenExpansion = setting({}, Fields(keys_of(GivenExpansion)))
    """An expansion of the query in place of a model's: lexicalQueries, vectorQueries and hyde, as
    expand_query gives them, and subQuestions. embeddings has a vector for each vector query, one
    for hyde, then one for each sub-question; without it the gateway is asked."""

    feedback: Feedback = setting({"weight": 0.5, "passages": 0}, Fields(keys_of(Feedback)))
    """Pseudo-relevance feedback in convex fusion. The query's vector moves by weight towards the
    mean of the first passages. All candidates are fused anew by their cosines to it. 0 passages:
    off."""

    fused_scale: str = setting("attainable", Text(["attainable", "minmax", "raw"]))
    """The scale of the fused score that blending and MMR see. attainable: over what a perfect match
    would get. minmax: over the candidates. raw: as summed."""

    fusion: str = setting("rrf", Text(["rrf", "convex"]))
    """How the arms are fused: by reciprocal ranks, or by normalised scores."""

    fuzzy: str = setting("auto", Text(["auto", "on", "off"]))
    """Whether misspelt and unfinished words are put right. auto: where the query has a word that
    the searched collections lack."""

    fuzzy_method: str = setting("vocabulary", Text(["vocabulary", "word_similarity"]))
    """How the fuzzy arm finds. vocabulary puts words right. word_similarity compares query and
    content, from 0.3 on, and reads every content."""

    graph: Graph = setting(
        {
            "depth": 1,
            "seeds": 10,
            "weight": 0,
            "combine": "fused",
            "direction": "both",
            "edge_types": None,
            "node_limit": 1000,
        },
        Fields(keys_of(Graph)),
    )
    """How passages that the graph leads to join the others. weight is what their list counts
    against all other lists together (0: off); seeds is how many of the first passages it starts
    from. depth is the most steps, direction out, in or both, edge_types which edges (null: all),
    node_limit the most nodes. combine sum is cosine + weight / (1 + depth), from all candidates."""

    heading_weight: float = setting(2, Number(0, 100))
    """BM25F: how many times a word in a heading above a passage counts; the length counts it once.
    One in a heading within it counts 3 to 5 times, by level."""

    hidden: Sequence[ForQuery] = setting([], FOR_QUERIES)
    """Leave documents out of the search for some queries: [{"query": "*refund*", "documents":
    ["old-policy"]}]. Documents and patterns are as those of pinned; hidden goes before pinned."""

    history: list[Said] = setting(
        [], Items(Fields(keys_of(Said), required=["role", "content"]), most=20)
    )
    """The chat before the query, the oldest message first: [{role, content}], role user or
    assistant. The mode default expands the query then, too, to a sub-question that names what it
    refers to."""

    hyde: str = setting("list", Text(["list", "query"]))
    """What a hypothetical answer (HyDE) is for. list: a list of its own, beside other variants of
    an expanded query. query: it alone is asked for, and joins the query for the vector arm."""

    k1: float = setting(1.2, Number(0, 100))
    """BM25: how soon repeated words stop counting."""

    language: str | None = setting(None, CONFIGURATION)
    """Search only documents of this text search configuration (pg_ts_config). zh, ja, ko, th, lo,
    km and my are pgblend's own."""

    level: str = setting("chunk", Text(["chunk", "document"]))
    """What the words rank: passages, or whole documents, each shown by its best passage."""

    lexical_method: str = setting("bm25", Text(["bm25", "ts_rank_cd"]))
    """How words rank. bm25: BM25 of passages that have any of them. ts_rank_cd: that of passages
    that have all (websearch_to_tsquery), which reads tsvectors."""

    max_file_tokens: int | None = setting(None, Whole(1, 10000000))
    """The most tokens (cl100k_base) of one document in a context."""

    max_part_tokens: int | None = setting(None, Whole(1, 10000000))
    """The most tokens of one part of a context; a longer passage is cut."""

    max_tokens: int = setting(4000, Whole(1, 10000000))
    """The most tokens of a context."""

    min_relevance: float | None = setting(None, Number(-1, 1))
    """Leave out rows below this relevance; rows without one as well. details says what relevance
    is (relevance_basis): a probability where that is calibrated, an estimate of one where prior."""

    min_score: float = setting(0, Number(0, 1))
    """Leave out rows below this score."""

    mmr: Mmr = setting({"pool": 50, "lambda": 1}, Fields(keys_of(Mmr)))
    """Maximal marginal relevance among the first pool rows. lambda weighs the score against
    likeness to rows above: 1 is off, 0.7 is usual. Rows keep their score, which then need not fall
    with rank."""

    mode: str = setting("default", Text(["default", "fast", "thorough", "agent", "api", "tool"]))
    """Which models a search may ask beside the query's vector. fast asks none, default may rerank,
    thorough may also expand the query. By caller: agent is thorough and gives 500 characters around
    each passage (context_chars); api and tool are fast. Where no model is set, details says so
    (not_run). A mode given in the call is then named in degraded as well."""

    normalization: Normalization = setting({"method": "minmax"}, Fields(keys_of(Normalization)))
    """How convex fusion makes scores comparable. minmax: from each list's lowest to its best.
    theoretical: from the lowest possible to the list's best. absolute: from the lowest to the
    highest possible. zscore is cut at 3. logistic takes center and scale by arm, else the list's
    own. spread: minmax, and a list counts more the further apart its scores are."""

    offset: int = setting(0, Whole(0, 10000))
    """How many rows to skip, for pages."""

    other_languages: float = setting(1, SHARE)
    """What is left of the fused score of a passage in another language than the question's, where
    both are among the candidates: below 1, of two translations the question's own comes first. The
    question's language is told by its script or its stop words."""

    over_fetch: dict[str, float] = setting(
        {"factor": 0},
        NumberList(["factor", "minimum", "rerank_factor", "variant_factor"], 0, 10000),
    )
    """For literal profiles: how many candidates each arm gives, as a multiple of offset + limit in
    place of candidate_depth. 0: off."""

    per_document: int | None = setting(None, Whole(1, 10000))
    """The most rows of one document."""

    pinned: Sequence[ForQuery] = setting([], FOR_QUERIES)
    """Put documents first for some queries, whether they have its words or not: [{"query":
    "returns", "documents": ["return-policy"]}]. Documents are source keys or URIs, in their
    order. A query is compared without regard to case and spaces, and * in the pattern stands for
    anything. Who may not see a document, and whose filter leaves it out, does not find it."""

    recency_half_life_days: float | None = setting(None, Number(0.001, 1000000))
    """Halve the fused score with each half-life of a passage's age. Its date is its own (a
    message's time), else the document's modified_at, else metadata's date, else ingested_at."""

    rerank: str | bool = setting("auto", Switch(["auto", "on", "off"]))
    """Whether a model scores the best passages against the query. auto goes by the mode: default
    and thorough do."""

    rerank_depth: int = setting(20, Whole(1, 100))
    """How many passages are reranked; the rest stay below, and have no relevance."""

    rerank_level: str = setting("chunk", Text(["chunk", "document"]))
    """What a reranker reads: chunk, the first rerank_depth passages; document, the best passage of
    each of the first rerank_depth documents (as the profiles gno and gno_epic)."""

    rerank_scores: dict[str, float] = setting({}, Scores(0, 1))
    """Scores in place of a rerank model's, by chunk id, for the passages that rerank_candidates
    gives."""

    rescore_factor: float = setting(4, Number(1, 1000))
    """In a binary embedding space: how many passages near by their signs are compared by their
    vectors, for each candidate. More is slower and more exact."""

    reserve_tokens: dict[str, float] = setting(
        {}, NumberList(["code", "doc", "metadata", "signature"], 0, 10000000)
    )
    """Tokens of a context that are kept for passages of a kind, until none of these are left."""

    rrf_k: float = setting(60, Number(0, 100000))
    """Reciprocal rank fusion: the constant added to each rank."""

    since: str | None = setting(None, DATE)
    """Search only documents of this date or later (see recency_half_life_days): a date or a
    timestamp of ISO 8601, in UTC where it has no zone."""

    space: str | None = setting(None, Text())
    """The name of the embedding space to search in; null: the active one."""

    strict: bool = setting(False, Flag())
    """Fail instead of going on without an arm."""

    strong_signal: dict[str, float] = numbers(
        {"gap": 0.14, "scale": 0, "score": 0.5, "center": 0}, 0, 1000
    )
    """When the words alone have found the answer: the best passage has at least score, and is at
    least gap above the best of another document that is no copy. BM25 counts as a share of what no
    passage can reach; with a scale above 0 as 1 / (1 + exp(-(BM25 - center) / scale))."""

    sub_questions: SubQuestions = setting({"most": 0, "weight": 4}, Fields(keys_of(SubQuestions)))
    """How many questions an expansion may make of one that asks for several things (most; 0: none),
    and how many times the query's own lists theirs count. In convex fusion a passage counts by its
    best sub-question. details say which of them a row answers."""

    synonyms: Sequence[Synonyms] = setting(
        [], Items(Fields(keys_of(Synonyms), required=["words"]), most=10_000)
    )
    """Words that the lexical arm takes for each other: [{"words": ["tv", "television"]}]. With `to`
    those of `words` stand for these, and not the other way round. Several words are a phrase, which
    the query has to have side by side; inflected forms count as `language` says, a text search
    configuration (null: all). `weight` is what a synonym counts beside the word itself (1). A rare
    one counts no more than the word."""

    tenant: str | None = setting(None, Text(most=200))
    """Whose rows are found of tables that were attached with a tenant_column (attach_table); null:
    that of SET pgblend.tenant. Without one, none of these rows is found."""

    timeouts_ms: dict[str, float] = numbers(
        {
            "embed": 2000,
            "total": 10000,
            "answer": 30000,
            "expand": 5000,
            "rerank": 2000,
            "lexical": 250,
        },
        1,
        600000,
    )
    """How many milliseconds a stage may wait for a model, and the lexical arm may take. total is
    for all stages of a search together."""

    title_weight: float = setting(3, Number(0, 100))
    """BM25F: how many times a word in the title counts; the length counts it once."""

    until: str | None = setting(None, DATE)
    """Search only documents of this date or earlier; the whole day where it has no time."""

    vector_scan: str = setting("auto", Text(["auto", "index", "exact"]))
    """How vectors are searched: by the HNSW index, by comparing all (exact), or as fits (auto)."""

    wait_for: str | None = setting(None, LSN)
    """What a standby must have replayed (pg_current_wal_insert_lsn() after a change). Commands and
    pgblend serve wait for it; what is still missing when the search runs is named."""

    weights: dict[str, float] = numbers(
        {
            "hyde": 0.7,
            "fuzzy": 1,
            "vector": 1,
            "lexical": 1,
            "vector_variant": 0.5,
            "lexical_variant": 0.5,
        },
        0,
        1000000,
    )
    """The weight of each list in fusion; an arm of weight 0 is not run. Where the fuzzy arm put a
    word right, the lexical arm counts an eighth. hyde and the variants are lists of an expanded
    query."""


@dataclass(init=False, eq=False, repr=False)
class CollectionSettings:
    """What may be given by a collection and for the whole database."""

    chunk_overlap_tokens: int = setting(80, Whole(0, 10000))
    """How many tokens a chunk repeats of the one before."""

    chunk_size_tokens: int = setting(400, Whole(8, 100000))
    """The most tokens of a chunk."""

    embedding_prefix: str = setting("title", Text(["title", "summary", "none"]))
    """What goes before a chunk's text when it is embedded. title: "title: … | text: …". summary:
    the document's summary and a line "---". none: nothing. What a change touches is embedded
    anew."""

    entities: bool = setting(False, Flag())
    """Whether ingest lets the entity_model find entities and relations in passages."""

    mentions: bool = setting(False, Flag())
    """Whether ingest makes edges from documents to those that their text names, by title or alias
    (link_mentions)."""

    min_chunk_size_tokens: int = setting(40, Whole(0, 100000))
    """The fewest tokens of a chunk: a smaller piece is joined to its neighbour."""

    summaries: bool = setting(False, Flag())
    """Whether the summary_model sums each document up in two or three sentences; messages are left
    out."""


@dataclass(init=False, eq=False, repr=False)
class ServerSettings:
    """What may be given for the whole database only."""

    answer_model: str | None = setting(None, Text())
    """The chat model that answers questions from passages; null: passages only."""

    default_profile: str = setting("balanced", PROFILE)
    """The profile of a search that names none."""

    embedding_max_attempts: int = setting(5, Whole(1, 100))
    """How often a text that the model refuses is tried before it is a dead letter."""

    embedding_model: str = setting("local/all-minilm-l6-v2", Text())
    """The model of the first embedding space."""

    embedding_retry_seconds: float = setting(10, Number(0, 86400))
    """How many seconds pass until a text that the model refused is tried again; doubled each
    time."""

    embedding_texts_per_minute: int | None = setting(None, Whole(1, 1000000000))
    """The most texts that all workers together send to the model of a space; null: no limit."""

    entity_model: str | None = setting(None, Text())
    """The chat model that finds the things which documents speak of; null: no entities."""

    expansion_model: str | None = setting(None, Text())
    """The chat model that expands queries; null: queries are not expanded."""

    gateway_url: str | None = setting(None, URL)
    """Where the model gateway listens: http://host:port or unix:/path."""

    limits: dict[str, int] = numbers(
        {
            "array_items": 10000,
            "query_words": 1000,
            "answer_bytes": 16000000,
            "filter_bytes": 100000,
            "filter_values": 1000,
            "options_bytes": 500000,
            "query_operators": 200,
            "query_characters": 100000,
            "filter_conditions": 200,
            "lexical_cache_bytes": LEXICAL_CACHE_BYTES,
        },
        100,
        1000000000,
    )
    """The most that a call may pass: characters, different words and operators (phrases,
    exclusions, or) of a query; bytes of a filter and of options; conditions of a filter and values
    of one; items of an array. answer_bytes is the most that a gateway may answer,
    lexical_cache_bytes the most that a session keeps of the words' postings."""

    log_address: str | None = setting(None, ADDRESS)
    """Where each search is reported, by one datagram: localhost:port, an address in numbers with a
    port, or unix:/path; null: nowhere. A gateway that runs with a database takes them at its own
    port."""

    log_queries: str = setting("on", Text(["on", "off", "hash"]))
    """What the search log has of a query's text: all of it (on), nothing (off), or its sha256
    (hash). Only admins read the log itself; the view searches shows analysts what they may see."""

    model_calls: dict[str, int] = numbers({"most": 16, "wait_ms": 0}, 0, 9007199254740991)
    """How many calls of models run at a time (most; 0: any number), and how long a call waits for
    its turn before its stage is left out (wait_ms)."""

    rerank_model: str | None = setting(None, Text())
    """The model that scores passages against the query: a rerank model or, slower, a chat model;
    null: passages keep their fused order."""

    serve_program: str | None = setting(None, Text(["inside", "outside"]))
    """Where the searches of pgblend serve and pgblend mcp run: in the server's session (inside) or
    in their own process (outside); null: outside where the server has no PL/Python."""

    summary_model: str | None = setting(None, Text())
    """The chat model that sums documents up at ingest; null: no summaries."""

    vision_model: str | None = setting(None, Text())
    """The chat model that reads pictures at ingest; null: pictures are left out."""


class Setting(NamedTuple):
    """One setting as the catalogue tells it."""

    name: str
    scope: str
    default: Any
    rule: Rule

    def row(self) -> dict[str, Any]:
        """Return the columns of setting_catalog but its meaning.

        A range holds for each number of an object.
        """
        rule = self.rule
        return {
            "name": self.name,
            "scope": self.scope,
            "value_type": rule.value_type or self.name,
            "default_value": self.default,
            "minimum": getattr(rule, "minimum", None),
            "maximum": getattr(rule, "maximum", None),
            "allowed_values": getattr(rule, "allowed", ()),
        }


def _settings() -> Iterator[Setting]:
    scopes = {"search": SearchSettings, "collection": CollectionSettings, "server": ServerSettings}
    for scope, described in scopes.items():
        for one in fields(described):
            yield Setting(one.name, scope, **one.metadata)


CATALOG: Mapping[str, Setting] = {one.name: one for one in _settings()}


def defaults(scope: str) -> dict[str, Any]:
    """Return the defaults of a scope's settings, by name."""
    return {one.name: one.default for one in CATALOG.values() if one.scope == scope}
