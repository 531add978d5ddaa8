"""The vector arm: candidates nearest to a query's vector by cosine distance, best first.

Filters never starve it. A walk of the index compares about ten vectors for each candidate that it
keeps, whatever their width (tests/benchmarks/bench_vector_scan). So 'auto' compares all vectors of
a space that has no more than that (of wide binary ones fewer), which misses nothing. Of a larger
space it compares those that could be candidates, where they are few. Those are of the searched
collections, or the ones that pass the filter. Walking the index until `depth` of n vectors pass
where m do keeps depth · n / m of them. Comparing takes m, which are looked for first and read one
by one. It takes four in the time in which a walk keeps one. So few is twice the square root of
depth · n. Collections' own are read at one go, which takes the longer, the wider they are. A walk
takes the longer, the less of its index a processor's cache holds. Of 384 dimensions few is three to
five times that root, of 1,536 three times. Where more pass, an iterative scan goes on until enough
did. Should it give up first, all are compared after all. 'index' never compares all, 'exact' always
does.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil, sqrt
from typing import NamedTuple

from pgblend.plpy.base.ports import CandidateList, LiteralRequest, Space, VectorRequest
from pgblend.plpy.base.session import Database, Row, error_state
from pgblend.plpy.base.unchanged import Of, run_unchanged
from pgblend.plpy.lexical.conditions import filter_condition, in_language, passing_ids
from pgblend.plpy.lexical.forms import IGNORABLE, small, unicode_form
from pgblend.plpy.lexical.query import (
    Operand,
    binding_conditions,
    binding_operands,
    literal_condition,
)

COMPARED = 10  # vectors that a walk compares for each candidate that it keeps
# Of a binary space a walk compares bits. That takes as long as so many vectors of few dimensions,
# and as half of them at so many dimensions.
COMPARED_BITS, HALF_AT = 14, 4700
# While a walk keeps a candidate, so many vectors of no width are read at one go and compared. Those
# of so many numbers take twice as long, and a walk in an index of so many vectors half as long.
READ, TWICE_AT, HALF_OF = 52, 600, 15_000
DEFAULT_WIDTH, MOST_WIDTH = 100, 1000  # of hnsw.ef_search
# A walk that leaves passages out goes on to more anyway, so a wide one takes hardly longer. Of a
# larger index a narrow one misses more. So it is as wide as there are thousands of vectors, or 400.
WIDE, A_THOUSAND = 400, 1000

# $1 is the query's vector, $4 the depth. The inner query orders by the distance alone, or
# PostgreSQL 15 does not use the HNSW index. Adding 0 to the distance hides the index. A zero vector
# has no direction, its distance is NaN: it is no candidate, as in the index. A vector that is cast
# stands in a query of its own. Else it would be cast once for each row.
_SCAN = """
SELECT
    array_agg(p.chunk_id) AS chunk_ids,
    array_agg(p.document_id) AS document_ids,
    array_agg(p.chunk_index) AS chunk_indexes,
    array_agg(1 - p.distance) AS scores{restored}
FROM (
    SELECT n.*
    FROM (
        SELECT e.chunk_id, e.document_id, e.chunk_index,
            (e.embedding <=> {vector}){hidden} AS distance
        FROM {source} AS e
        ORDER BY distance
        {cut}
    ) AS n
    WHERE n.distance < 'NaN'
    ORDER BY n.distance, n.document_id, n.chunk_index
    LIMIT $4
) AS p
"""
# All ties at the cut come back, to be cut by (document, chunk index). The first rows take less to
# sort: one more than is asked for tells whether there are any ties.
_WITH_TIES = "FETCH FIRST $4 ROWS WITH TIES"
_FIRST = "LIMIT $4"
_STORED = "(SELECT * FROM pgblend_data.{table} AS e WHERE true{conditions})"
# A binary space's index gives the first $8 by Hamming distance, of which stored vectors choose.
_BY_SIGNS = """(
    SELECT e.chunk_id, e.document_id, e.chunk_index, e.embedding
    FROM pgblend_data.{table} AS e
    WHERE true{conditions}
    ORDER BY binary_quantize(e.embedding)::bit({bits})
        <~> (SELECT binary_quantize($1::{vector_type})::bit({bits}))
    LIMIT $8
)"""
_SCAN_TYPES = [
    *("vector", "bigint[]", "text[]", "integer", "bigint[]", "text[]", "tsquery[]", "integer"),
]
_OF_COLLECTIONS = " AND e.collection_id = ANY($2)"
_OF_PASSING = " AND e.chunk_id = ANY($5)"
_OF_DOCUMENT = """ AND (
    SELECT true FROM pgblend_data.document AS d
    WHERE d.id = e.document_id AND {})"""
_OF_CHUNK = """ AND (
    SELECT true FROM pgblend_data.chunk AS c
    INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
    WHERE c.id = e.chunk_id AND {})"""
_OF_WORDS = """ AND (
    SELECT true FROM pgblend_data.chunk AS c
    WHERE c.id = e.chunk_id
        AND coalesce(c.lexemes @@ $7[array_position($6, c.text_search_config)], true))"""
# Without sorting, the index is the only way left; the scan itself allows it again. Whose routine
# runs this has SET clauses that put the caller's values back.
_WALKING = (
    "SELECT set_config('hnsw.ef_search', $1::text, true), set_config('enable_sort', 'off', true),"
    " set_config('hnsw.iterative_scan', $2, true)"
)
_RESTORED = ", set_config('enable_sort', 'on', true)"
# The planner takes any list of collections for ten, and so reads the whole table for a small one.
_BY_COLLECTION = "SELECT set_config('enable_seqscan', 'off', true)"
_SEQUENTIAL = ", set_config('enable_seqscan', 'on', true)"
_IS_SMALL = """
    SELECT NOT EXISTS (
        SELECT FROM pgblend_data.{table} AS e
        WHERE e.collection_id = ANY($1) OFFSET $2::bigint) AS is_small{restored}
"""
# The lexical index tells sooner of many that they are many: one row for each 65,536 chunks.
_IS_LARGE = """
    SELECT coalesce(sum(s.n - octet_length(s.dead) / 4), 0) > $2 AS is_large
    FROM pgblend_data.segment AS s WHERE s.collection_id = ANY($1)"""
_CONFIGS = """
    SELECT DISTINCT l.text_search_config AS name FROM pgblend_data.collection_language AS l
    WHERE l.collection_id = ANY($1)"""
_DECIDE = "SELECT pgblend._documents_decide($1, $2, $3) AS found"


class VectorSearch(VectorRequest):
    """A request with what follows from it."""

    @property
    def conditions(self) -> str | None:
        """Return the filter with the language that is asked for, as JSON; None without both."""
        return in_language(self.filter, self.language)

    @property
    def small(self) -> int:
        """Return how many vectors may all be compared in the time that a walk takes.

        A walk compares vectors like those of the table, so their width counts alike for both. Only
        a binary index has bits, which cost the less beside its vectors, the wider these are.
        """
        if self.space.storage != "binary":
            return COMPARED * self.width
        return round(COMPARED_BITS * self.width / (1 + self.space.dimensions / HALF_AT))

    @property
    def few(self) -> int:
        """Return how many candidates are compared rather than walked to.

        A walk that has to leave out others is never the shortest one.
        """
        return 2 * max(self.small, round(sqrt(self.depth * max(self.space.vectors, 0))))

    @property
    def few_of_collections(self) -> int:
        """Return how many of some collections' own are compared."""
        numbers = self.space.dimensions / (1 if self.space.storage == "vector" else 2)
        vectors = max(self.space.vectors, 0)
        share = READ / (1 + numbers / TWICE_AT) / (1 + HALF_OF / (vectors + 1))
        least = self.small * 3 // (2 if self.space.storage == "binary" else 1)
        return max(least, round(sqrt(share * self.depth * vectors)))

    @property
    def rescored(self) -> int:
        """Return how many candidates of a binary space's index are compared by their vectors."""
        return ceil(round(self.depth * self.rescore_factor, 9))

    @property
    def width(self) -> int:
        """Return hnsw.ef_search.

        One more, since one more row than is asked for is read to know the ties at the cut.
        """
        least = self.rescored if self.space.storage == "binary" else self.depth
        asked = self.ef_search or self.space.ef_search or DEFAULT_WIDTH
        return min(max(asked, least) + 1, MOST_WIDTH)

    @property
    def width_for_some(self) -> int:
        """Return hnsw.ef_search of a walk that leaves passages out."""
        if self.ef_search or self.space.ef_search:
            return self.width
        return max(self.width, min(int(self.space.vectors) // A_THOUSAND, WIDE))


def candidates(row: Row) -> CandidateList:
    """Return the columns that a routine of an arm gives; cosines have no perfect one."""
    return CandidateList(
        row["chunk_ids"] or [],
        row["document_ids"] or [],
        row["chunk_indexes"] or [],
        row["scores"] or [],
        perfect=row.get("perfect_score"),
    )


def first_candidates(found: CandidateList, most: int) -> CandidateList:
    """Return the first candidates of a list by vectors."""
    return CandidateList(
        found.chunk_ids[:most],
        found.document_ids[:most],
        found.chunk_indexes[:most],
        found.scores[:most],
    )


class Narrowed(NamedTuple):
    """SQL conditions about e, the space's table, and the values of $3 and $5 to $7 in them.

    `is_part`: the collections have few of the vectors.
    """

    text: str
    is_part: bool = False
    operands: Sequence[str] | None = None
    passing: Sequence[int] | None = None
    configs: Sequence[str] | None = None
    phrases: Sequence[str | None] | None = None


def used_configs(db: Database, collection_ids: Sequence[int]) -> list[str]:
    """Return the text search configurations that collections use."""
    return [row["name"] for row in db.run(_CONFIGS, ["bigint[]"], collection_ids)]


def vector_list(db: Database, request: VectorRequest) -> CandidateList:
    """Return the vector arm's list; there is no perfect cosine among them."""
    asked = VectorSearch(*request)
    scan, passing, is_part = chosen_scan(db, asked)
    narrowed = narrowed_by(db, asked, passing, is_part)
    if scan == "exact" or narrowed.passing is not None:
        return compared(db, asked, narrowed)
    found = walked(db, asked, narrowed)
    is_whole = asked.is_everywhere and not asked.space.has_policy
    is_enough = len(found.chunk_ids) == asked.depth or (
        asked.conditions is None and (is_whole or narrowed.configs is not None)
    )
    if scan == "index" or is_enough:
        return found
    return compared(db, asked, narrowed)


def chosen_scan(db: Database, asked: VectorSearch) -> tuple[str, Sequence[int] | None, bool]:
    """Return 'exact' where 'auto' is to compare all, and of what.

    Those are the chunks that pass where few do, or, if True, the collections' own. The planner's
    row count tells a small table. A part is counted of a large one, unless the lexical index has
    more, and of one that was never analyzed (-1). Otherwise a search would change with the first
    autovacuum. A session counts many collections' vectors anew where the planner's count makes the
    most another one.
    """
    space, few, scan = asked.space, asked.few, asked.scan
    if scan != "auto":
        return scan, None, False
    ids, passing = asked.collection_ids, None
    if asked.conditions is not None and not 0 <= space.vectors <= few:
        passing = passing_ids(db, filter_condition(db, asked.conditions, 2), ids, few)
    if passing is not None or 0 <= space.vectors <= asked.small:
        return "exact", passing, False
    is_part = not asked.is_everywhere or space.has_policy
    most = asked.small if space.vectors < 0 else asked.few_of_collections if is_part else None
    if most is None:
        return scan, None, False
    types, asks = ["bigint[]", "integer"], (ids, most)
    if (
        space.vectors >= 0
        and run_unchanged(db, _IS_LARGE, types, *asks, of="segment")[0]["is_large"]
    ):
        return scan, None, False
    statement = _IS_SMALL.format(table=space.table_name, restored=_SEQUENTIAL)
    of: Of = "rows" if space.vectors < 0 else "estimate"
    if run_unchanged(db, statement, types, *asks, before=_BY_COLLECTION, of=of)[0]["is_small"]:
        return "exact", None, is_part
    return scan, None, False


def narrowed_by(
    db: Database, asked: VectorSearch, passing: Sequence[int] | None, is_part: bool
) -> Narrowed:
    """Return the conditions of a scan, as expressions, of which the planner makes no join."""
    ids = asked.collection_ids
    # Row security restricts to all of them, by a condition that no index serves.
    is_named = is_part or not asked.is_everywhere
    found = Narrowed(_OF_COLLECTIONS if is_named else "", is_part)
    if passing is not None:
        found = found._replace(text=found.text + _OF_PASSING, passing=passing)
    elif asked.conditions is not None:
        condition = filter_condition(db, asked.conditions, 3)
        values = condition.on_document, condition.keys, ids
        if db.run(_DECIDE, ["text", "text[]", "bigint[]"], *values)[0]["found"]:
            more = _OF_DOCUMENT.format(condition.on_document)
        else:
            more = _OF_CHUNK.format(condition.on_chunk)
        found = found._replace(text=found.text + more, operands=condition.operands)
    operands = binding_operands(db, asked.binding, lambda: used_configs(db, ids))
    if not operands:
        return found
    if passing is None and asked.scan == "auto":
        holding = few_holding(db, asked, operands)
        if holding is not None:
            found = found._replace(text=found.text + _OF_PASSING, passing=holding)
    binding = binding_conditions(db, operands)
    return found._replace(
        text=found.text + _OF_WORDS, configs=[*binding], phrases=[*binding.values()]
    )


def few_holding(
    db: Database, asked: VectorSearch, operands: Mapping[str, Sequence[Operand]]
) -> Sequence[int] | None:
    """Return the chunks that have the words of the query's phrases; None where they are not few.

    Each that is walked to or compared has its lexemes read. So few are half of those of a filter.
    """
    try:
        from pgblend.plpy.lexical.own_index import holding_chunks  # of few searches, needs numpy

        ids = holding_chunks(db, asked.collection_ids, operands.values())
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        return None
    except db.Problem as error:
        if error_state(error) != "PB002":  # the lexical arm tells what is damaged
            raise
        return None
    return ids.tolist() if ids is not None and 2 * len(ids) <= asked.few else None


@lru_cache(maxsize=100)
def scan_statement(
    space: Space, conditions: str, is_exact: bool, cut: str = _WITH_TIES, is_part: bool = False
) -> str:
    """Return the statement that finds the vectors nearest to $1, the first $4, as arrays.

    They are NULL where there are none. `conditions` begin with AND and are about e, the table of
    the space. The statement of a part puts back what _BY_COLLECTION sets.
    """
    is_walk_of_signs = space.storage == "binary" and not is_exact
    source = (_BY_SIGNS if is_walk_of_signs else _STORED).format(
        table=space.table_name,  # a space's name needs no quotes
        conditions=conditions,
        bits=space.dimensions,
        vector_type=space.vector_type,
    )
    hidden = " + 0" if is_exact or space.storage == "binary" else ""
    restored = _SEQUENTIAL if is_part else "" if is_exact else _RESTORED
    is_cast = not space.vector_type.startswith("vector")
    vector = f"(SELECT $1::{space.vector_type})" if is_cast else "$1"
    return _SCAN.format(vector=vector, source=source, hidden=hidden, restored=restored, cut=cut)


class IndexWalk(NamedTuple):
    """How the index is walked: hnsw.ef_search, and hnsw.iterative_scan (off: it does not go on)."""

    width: int
    order: str


def walked(db: Database, asked: VectorSearch, narrowed: Narrowed) -> CandidateList:
    """Return what a walk of the index finds.

    Where nothing is left out, a walk that cannot go on finds the same an eighth faster. That it
    finds one more, which is no tie, tells that it was enough.
    """
    is_whole = narrowed.text == "" and not asked.space.has_policy
    depth, width = asked.depth, asked.width if is_whole else asked.width_for_some
    if is_whole and asked.space.storage != "binary" and width > depth:
        found = one_more(db, asked, narrowed, IndexWalk(width, "off"))
        if len(found.scores) > depth and not is_tied(found, depth):
            return first_candidates(found, depth)
    return nearest(db, asked, narrowed, IndexWalk(width, "strict_order"))


def compared(db: Database, asked: VectorSearch, narrowed: Narrowed) -> CandidateList:
    """Return what comparing all finds; ties at the cut take a second look."""
    found = one_more(db, asked, narrowed)
    if is_tied(found, asked.depth):
        return nearest(db, asked, narrowed)
    return first_candidates(found, asked.depth)


def is_tied(found: CandidateList, depth: int) -> bool:
    """Tell whether the candidate after the cut is as near as the last one before it."""
    return len(found.scores) > depth and found.scores[depth] == found.scores[depth - 1]


def one_more(
    db: Database, asked: VectorSearch, narrowed: Narrowed, walk: IndexWalk | None = None
) -> CandidateList:
    """Return one candidate more than is asked for, of ties at its cut any."""
    return nearest(db, asked._replace(depth=asked.depth + 1), narrowed, walk, _FIRST)


def nearest(
    db: Database,
    asked: VectorSearch,
    narrowed: Narrowed,
    walk: IndexWalk | None = None,
    cut: str = _WITH_TIES,
) -> CandidateList:
    """Return what one scan finds, which compares all unless it is a walk.

    Its plan is kept by the session, one for each shape.
    """
    text, is_part, operands, passing, configs, phrases = narrowed
    statement = scan_statement(asked.space, text, walk is None, cut, is_part)
    ids = asked.collection_ids if "$2" in text else None  # many take milliseconds to be told
    values = [
        *(asked.vector, ids, operands, asked.depth),
        *(passing, configs, phrases, asked.rescored),
    ]
    if walk is not None:
        db.run(_WALKING, ["integer", "text"], *walk)
    elif is_part:
        db.run(_BY_COLLECTION, [])
    return candidates(db.run(statement, _SCAN_TYPES, *values)[0])


# Lists by words without the lexical index: what literal profiles have in place of it.
#
# They read tsvectors or contents, so they are slow: for the profile three_arm, and for small
# collections. Phrases and exclusions must hold. Ties go by (document, chunk index).

# $1 the words, $2 collections, $3 the chunks that pass the filter, $4 the one language or NULL. $5
# is the depth, $6 are configurations, and $7 is the condition of each; NULLs where nothing is left
# out.
_LIST = """
WITH candidate AS ({candidates}
    WHERE c.collection_id = ANY($2)
        AND c.text_search_config = coalesce($4, c.text_search_config)
        AND ($3 IS NULL OR c.id IN (SELECT unnest($3)))
        AND {holds}
)
SELECT
    array_agg(b.id) AS chunk_ids,
    array_agg(b.document_id) AS document_ids,
    array_agg(b.chunk_index) AS chunk_indexes,
    array_agg(b.score::double precision) AS scores,
    {perfect}::double precision AS perfect_score
FROM (
    SELECT c.* FROM candidate AS c
    WHERE c.score {passes}
    ORDER BY c.score DESC, c.document_id, c.chunk_index
    LIMIT $5
) AS b
"""
_TYPES = ["text", "bigint[]", "bigint[]", "text", "integer", "text[]", "tsquery[]"]
# A body has all words and phrases and none of what is excluded (literal_condition). What only lacks
# the excluded words ranks nothing. ts_rank_cd has no bound: the best candidate has a perfect score.
_COVER_DENSITY = _LIST.format(
    candidates="""
    SELECT c.id, c.document_id, c.chunk_index, ts_rank_cd(c.lexemes, a.condition) AS score
    FROM unnest($6, $7) AS a (name, condition)
    INNER JOIN pgblend_data.chunk AS c ON c.text_search_config = a.name
""",
    holds="c.lexemes @@ a.condition",
    passes="> 0",
    perfect="max(b.score)",
)
# Contents of other than ASCII characters are compared in the form of the query's words.
_SPELT = f"""CASE WHEN octet_length(c.content) = length(c.content) THEN c.content
        ELSE translate(regexp_replace(normalize(c.content, NFKC), '{IGNORABLE}', '', 'g'),
            '\u0130\u0131', 'ii') END"""
_WORD_SIMILARITY = _LIST.format(
    candidates=f"""
    SELECT c.id, c.document_id, c.chunk_index, word_similarity($1, {_SPELT}) AS score
    FROM pgblend_data.chunk AS c
    LEFT JOIN unnest($6, $7) AS b (name, condition) ON b.name = c.text_search_config
""",
    holds="coalesce(c.lexemes @@ b.condition, true)",
    passes=">= 0.3::real",
    perfect="1",
)


def literal_list(db: Database, request: LiteralRequest) -> CandidateList:
    """Return the list of a kind, lexical or fuzzy."""
    ids, language, query = request.collection_ids, request.language, request.query
    passing = None
    if request.filter is not None:
        passing = passing_ids(db, filter_condition(db, request.filter, 2), ids, None)
    if request.kind == "lexical":
        statement = _COVER_DENSITY
        configs = [one for one in used_configs(db, ids) if language in (None, one)]
        asked = {one: literal_condition(db, query, one) for one in configs}
        conditions = {one: condition for one, condition in asked.items() if condition}
    else:
        statement = _WORD_SIMILARITY
        operands = binding_operands(db, query, lambda: used_configs(db, ids))
        conditions = binding_conditions(db, operands)
    words = small(unicode_form(request.words))
    values = words, ids, passing, language, request.depth, [*conditions], [*conditions.values()]
    return candidates(db.run(statement, _TYPES, *values)[0])
