"""The store of a coordinator: what a search asks of it, the shards answer."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from pgblend.plpy.base.ports import (
    AgesRequest,
    CandidateList,
    CosinesRequest,
    Distance,
    DistancesRequest,
    Edge,
    Held,
    Holder,
    HoldersRequest,
    LanguagesRequest,
    LiteralRequest,
    NamedDocument,
    NamesRequest,
    NeighboursRequest,
    NodePassage,
    NodesRequest,
    Passage,
    PassagesRequest,
    PassingRequest,
    Space,
    VectorRequest,
    VectorsRequest,
)
from pgblend.plpy.base.session import Database, Rows
from pgblend.plpy.shards.merged_answers import cut_short, merged_lists, share_of
from pgblend.plpy.shards.trips import Call, Trips
from pgblend.plpy.shards.wire import Step, unpacked, unpacked_list

if TYPE_CHECKING:
    from pgblend.plpy.lexical.arm import LexicalArm, ListScope
    from pgblend.plpy.search.store import Highlights
    from pgblend.plpy.shards.trips import Absence

Asked = tuple[str, Any]  # name, request
_BLOCK_BITS = 40  # of _become_shard: ids of a shard begin at its number * 2^40 + 1
MOST_TURNS = 6  # each asks for four times as many edges
MOST_READ_AHEAD = 100  # passages whose text, cosine and snippet come together


class ShardStore:
    """Answers by trips; it remembers where each candidate is."""

    def __init__(self, db: Database, absent: dict[int, str]) -> None:
        self.db, self.trips = db, Trips(db, absent)
        self.expected: VectorRequest | None = None
        self.vector: tuple[str, str] | None = None  # space, the query's own
        self.lists: list[tuple[Asked, CandidateList]] = []
        self.has_given = False  # a list, in this run of the search
        self.place: dict[int, int] = {}  # shard by chunk id
        self.of_shards: list[tuple[int, CandidateList]] = []
        self.hashes: dict[int, int] = {}
        self.read: dict[int, Passage] = {}
        self.near: set[int] = set()  # of the vector's own list, which has their cosines
        self.compared: set[int] = set()  # with the vector
        self.cosines_read: dict[int, float | None] = {}
        self.highlights: Highlights | None = None
        self.named_query: str | None = None  # of the list that is asked for next
        self.named: dict[tuple[str, int], bool] = {}

    def begin(
        self, deadline: float, collection_ids: Sequence[int], is_strict: bool, walks: bool
    ) -> "Absence | None":
        """Find out which shards there are to ask; return what is missing.

        A walk may lead through all that the caller may read.
        """
        self.trips.likely = [
            ("configurations", collection_ids),
            ("check_index", collection_ids, is_strict),
        ]
        self.has_given = False
        return self.trips.begin(deadline, None if walks else collection_ids)

    # Lists

    def arm(self, scope: "ListScope", cache_bytes: int) -> "LexicalArm":
        """Return the lexical arm over the shards' indexes; each shard keeps what it is set to."""
        from pgblend.plpy.shards.shard_index import ShardArm, ShardIndex

        return ShardArm(self.db, ShardIndex(self), scope)

    def expect(self, request: VectorRequest) -> None:
        """Ask for these vectors with the next list."""
        self.expected = request

    def nearest(self, request: VectorRequest) -> CandidateList:
        """Return the passages nearest to a vector."""
        is_own = self.expected is None or request == self.expected
        if is_own:
            self.vector = (request.space.name, request.vector) if request.vector else None
        found = self.listed("nearest", request)
        if is_own:
            self.near = {*found.chunk_ids}
        return found

    def note_spaces(self, spaces: Sequence[Space]) -> None:
        """Do nothing: a request names its own."""

    def spaces(self, chunk_ids: Sequence[int]) -> Mapping[int, str]:
        """Return none: it is one for all."""
        return {}

    def literal(self, request: LiteralRequest) -> CandidateList:
        """Return a list by words without the lexical index."""
        return self.listed("literal", request)

    def listed(self, name: str, request: Any) -> CandidateList:
        """Return a list of all shards; it may have come with an earlier one."""
        found = self.known_list(name, request)
        if found is None:
            wanted = [(name, request)]
            if self.expected is not None and name != "nearest":
                wanted.append(("nearest", self.expected))
            self.ask_lists([one for one in wanted if self.known_list(*one) is None])
            found = self.known_list(name, request)
        assert found is not None
        self.has_given = True
        return found

    def known_list(self, name: str, request: Any) -> CandidateList | None:
        """Return a list that has come, None where it has not: there are few."""
        asked = name, timeless(request)
        return next((found for known, found in self.lists if known == asked), None)

    def ask_lists(self, wanted: Sequence[tuple[str, Any]]) -> None:
        """Ask all shards for their share of lists, and once more where that is cut too early."""
        trips = self.trips
        shares = [share_of(request.depth, trips.spread.evenly) for _, request in wanted]
        calls: list[Call] = [
            (name, request._replace(depth=share))
            for (name, request), share in zip(wanted, shares, strict=True)
        ]
        query = self.named_query
        if query is not None:  # of the best of the first list
            calls.insert(1, ("first_named", query))
        (*columns, hashes), changed = trips.checked([*calls, ("hashes",)])
        if changed:
            self.lists.clear()  # those of before are of another moment
        if query is not None:
            first = dict(one for one in columns.pop(1) if one)
            self.named.update(((query, chunk_id), named) for chunk_id, named in first.items())
        lists = [
            dict(zip(trips.shards, map(unpacked_list, column), strict=True)) for column in columns
        ]
        for number, text in zip(trips.shards, hashes, strict=True):
            self.note_hashes(text, [of_list[number] for of_list in lists])
        for (name, request), share, of_shards in zip(wanted, shares, lists, strict=True):
            found = self.whole(name, request, share, of_shards)
            self.lists.append(((name, timeless(request)), found))
        trips.look_again(changed)

    def settle(self) -> None:
        """Check facts that no list was asked for with."""
        if self.trips.unchecked:
            changed = self.trips.checked([])[1]
            if changed:
                self.lists.clear()
            self.trips.look_again(changed)

    def whole(
        self, name: str, request: Any, share: int, lists: dict[int, CandidateList]
    ) -> CandidateList:
        """Return the merged list, of which no shard holds back more."""
        merged = merged_lists(lists, request.depth)
        again = cut_short(lists, merged, share, request.depth)
        if again:
            answers = self.trips.ask({one: [(name, request), ("hashes",)] for one in again})
            for number, (found, text) in answers.items():
                lists[number] = unpacked_list(found)
                self.note_hashes(text, [lists[number]])
            merged = merged_lists(lists, request.depth)
        for number, one in lists.items():
            self.note_places(number, one.chunk_ids)
        self.of_shards += lists.items()
        return merged

    def note_places(self, number: int, chunk_ids: Sequence[int]) -> None:
        """Remember where passages are; of shards that name the same, the one whose block it is of.

        Where it is of neither's block, since a split keeps ids, nobody can tell: both are left out.
        """
        for one in self.place.keys() & {*chunk_ids}:
            others = {number, self.place[one]} - {one >> _BLOCK_BITS}
            if self.place[one] != number and self.place[one] in self.trips.shards:
                self.trips.refuse(others, "ids")
        self.place.update(dict.fromkeys(chunk_ids, number))

    def note_hashes(self, text: str, lists: Sequence[CandidateList]) -> None:
        """Remember what a shard's candidates have in common with others."""
        chunk_ids = chain.from_iterable(one.chunk_ids for one in lists)
        (hashes,) = unpacked("I", text)
        self.hashes.update(zip(chunk_ids, hashes, strict=True))

    # Facts

    def has_chunks(self, collection_ids: Sequence[int]) -> bool:
        """Tell whether collections have passages on any shard."""
        return bool(self.trips.fact(("has_chunks", collection_ids), any))

    def is_building(self, collection_ids: Sequence[int]) -> bool:
        """Tell that nothing is built here: a shard's error says what is missing there."""
        return False

    def hold(self, space: Space, collection_ids: Sequence[int], asks: bool) -> Held:
        """Tell what the shards have of a space; a trip that reads it holds it there."""

        def merge(values: Sequence[Sequence[bool]]) -> list[bool]:
            there, vectors, waiting = zip(*values, strict=True)
            return [all(there), any(vectors), any(waiting)]

        call = "hold", space.name, collection_ids
        return Held(*self.trips.fact(call, merge, lambda held: bool(held[1])))

    def configurations(self, collection_ids: Sequence[int]) -> list[str]:
        """Return the text search configurations in use."""
        found: list[str] = self.trips.fact(
            ("configurations", collection_ids), lambda values: sorted({*chain(*values)})
        )
        return found

    def is_named(self, query: str, chunk_id: int) -> bool:
        """Tell whether a passage's document is called as the query asks."""
        if (query, chunk_id) in self.named:
            return self.named[query, chunk_id]
        answers = self.trips.ask({self.place[chunk_id]: [("is_named", query, chunk_id)]})
        return any(chain(*answers.values()))

    # Passages

    def owned(self, ids: Iterable[int], place: Mapping[int, int]) -> dict[int, list[int]]:
        """Return ids by shard; one whose place is not known may be on any."""
        found: dict[int, list[int]] = {}
        for one in ids:
            for number in [place[one]] if one in place else self.trips.shards:
                found.setdefault(number, []).append(one)
        return found

    def by_place(self, calls: Mapping[int, Sequence[Call]]) -> list[list[Any]]:
        """Make a trip; return each call's answers."""
        answers = self.trips.ask(calls) if calls else {}
        return [list(column) for column in zip(*answers.values(), strict=True)]

    def passages(self, request: PassagesRequest) -> Sequence[Passage]:
        """Return the passages that are there."""
        self.trips.left_ms = request.timeout_ms
        self.read_ahead(request.chunk_ids)
        return [self.read[one] for one in request.chunk_ids if one in self.read]

    def read_ahead(self, chunk_ids: Sequence[int]) -> None:
        """Read passages, and with them their snippets, and cosines to the query's vector."""
        unread = [one for one in chunk_ids if one not in self.read]
        if not unread:
            return
        marks = self.highlights if len(unread) <= MOST_READ_AHEAD else None
        calls: dict[int, list[Call]] = {}
        for number, ids in self.owned(unread, self.place).items():
            calls[number] = [("passages", PassagesRequest(ids, [], 0.0))]
            if marks is not None:
                calls[number].append(snippets_call(marks, ids))
            further = [one for one in ids if one not in self.near]
            if self.vector is not None and further:
                calls[number].append(("cosines", CosinesRequest(*self.vector, further, 0.0)))
                self.compared.update(further)
        repeated = self.repeated()
        for number, answers in self.trips.ask(calls).items():
            found = dict(zip((name for name, *_ in calls[number]), answers, strict=True))
            asked = calls[number][0][1].chunk_ids
            if not found["passages"] and any(self.place.get(one) == number for one in asked):
                self.trips.refuse([number], "passages")  # it named them as its own
            for row in found["passages"]:
                row[-1] = self.hashes.get(row[0]) in repeated  # may_repeat
                self.read[row[0]] = Passage(*row)
            if marks is not None:
                marks.ready.update(found["snippets"])
            self.cosines_read.update(found.get("cosines", ()))

    def highlight(self, highlights: "Highlights") -> None:
        """Have snippets with these marks come with passages."""
        self.highlights = highlights

    def repeated(self) -> set[int | None]:
        """Return what the texts of several candidates have in common, and None: who knows?"""
        if len({*self.hashes.values()}) == len(self.hashes):
            return {None}
        return {None, *(one for one, count in Counter(self.hashes.values()).items() if count > 1)}

    def holders(self, request: HoldersRequest) -> Sequence[Holder]:
        """Return those of the passages that have one of the texts."""
        return [Holder(*row) for row in chain(*self.of_passages("holders", request))]

    def ages_days(self, request: AgesRequest) -> Sequence[float | None]:
        """Return how old the passages are, in their order."""
        places = self.owned(request.chunk_ids, self.place)
        calls: dict[int, list[tuple[Any, ...]]] = {
            number: [("ages_days", request._replace(chunk_ids=ids))]
            for number, ids in places.items()
        }
        return self.in_order(request.chunk_ids, places, calls)

    def languages(self, request: LanguagesRequest) -> Sequence[str | None]:
        """Return the text search configurations of documents, in their order."""
        return self.of_documents("languages", request)

    def of_passages(
        self, name: str, request: HoldersRequest | PassingRequest | DistancesRequest
    ) -> list[Any]:
        """Return what each shard says of its own of some passages."""
        calls = {
            number: [(name, request._replace(chunk_ids=ids))]
            for number, ids in self.owned(request.chunk_ids, self.place).items()
        }
        return [answer for answers in self.by_place(calls) for answer in answers]

    def passing(self, request: PassingRequest) -> Sequence[Sequence[int]]:
        """Return for each filter the passages that pass it."""
        answers = self.of_passages("passing", request)
        return [[*chain(*of_filter)] for of_filter in zip(*answers, strict=True)]

    def distances(self, request: DistancesRequest) -> Sequence[Distance]:
        """Return how far values are from origins."""
        return [Distance(*row) for row in chain(*self.of_passages("distances", request))]

    def named_documents(self, request: NamesRequest) -> Sequence[NamedDocument]:
        """Return the documents that have some source keys or URIs."""
        (answers,) = self.trips.everywhere([("named_documents", request)])
        found = [NamedDocument(*row) for row in chain(*answers)]
        return sorted(found, key=lambda one: one.document_id)

    def of_documents(self, name: str, request: LanguagesRequest) -> list[Any]:
        """Return what shards know of documents, in their order; None where none does."""
        place = {one: number for number, found in self.of_shards for one in found.document_ids}
        places = self.owned(request.document_ids, place)
        calls: dict[int, list[tuple[Any, ...]]] = {
            number: [(name, request._replace(document_ids=ids))] for number, ids in places.items()
        }
        return self.in_order(request.document_ids, places, calls)

    def in_order(
        self,
        wanted: Sequence[int],
        places: Mapping[int, Sequence[int]],
        calls: Mapping[int, Sequence[tuple[Any, ...]]],
    ) -> list[Any]:
        """Return what shards answer of ids, in the order wanted; None where none does."""
        found: dict[int, Any] = {}
        for ids, (values,) in zip(places.values(), self.trips.ask(calls).values(), strict=True):
            known = zip(ids, values or [], strict=True)
            found.update((one, value) for one, value in known if value is not None)
        return [found.get(one) for one in wanted]

    def cosines(self, request: CosinesRequest) -> dict[int, float | None]:
        """Return exact cosines of those that have a vector; None for a zero vector."""
        self.trips.left_ms = request.timeout_ms
        ids = request.chunk_ids
        if (request.space, request.vector) == self.vector:
            if len(ids) <= MOST_READ_AHEAD:
                self.read_ahead(ids)
            if self.compared.issuperset(ids):
                return {one: self.cosines_read[one] for one in ids if one in self.cosines_read}
        calls = {
            number: [("cosines", request._replace(chunk_ids=of_shard))]
            for number, of_shard in self.owned(ids, self.place).items()
        }
        return dict(pairs(chain(*self.by_place(calls))))

    def vectors(self, request: VectorsRequest) -> dict[int, str]:
        """Return the passages' vectors as texts."""
        calls = {
            number: [("vectors", request._replace(chunk_ids=ids))]
            for number, ids in self.owned(request.chunk_ids, self.place).items()
        }
        return dict(pairs(chain(*self.by_place(calls))))

    def around(self, chunk_ids: Sequence[int], sizes: Mapping[str, float]) -> Rows:
        """Return passages and those around them in their documents."""
        calls = {
            number: [("around", ids, sizes)]
            for number, ids in self.owned(chunk_ids, self.place).items()
        }
        return [row for answers in self.by_place(calls) for row in chain(*answers)]

    def neighbours(self, request: NeighboursRequest) -> Sequence[Edge]:
        """Return the edges of nodes, the heaviest first.

        Those to nodes of other shards that are gone are left out: shards may not know it yet. A
        shard is asked for more where it might hold some in their place.
        """
        most = request.most
        for _ in range(MOST_TURNS):
            (answers,) = self.trips.everywhere([("steps", request._replace(most=most))])
            of_shards = [[Step(*row) for row in rows] for rows in answers]
            kept = self.whole_edges(of_shards)
            cut = zip(of_shards, kept, strict=True)
            if all(len(rows) < most or len(edges) >= request.most for rows, edges in cut):
                break
            most *= 4
        edges = [Edge(*one[:5]) for one in chain(*kept)]
        edges.sort(key=lambda one: (-one.weight, one.neighbour, one.node, *one[2:4]))
        return edges[: request.most]

    def whole_edges(self, of_shards: Sequence[Sequence[Step]]) -> list[list[Step]]:
        """Return each shard's edges whose ends are there, of the collections that they say."""
        far = sorted({end for one in chain(*of_shards) for end in one.far_ends})
        there: set[tuple[int, int]] = set()
        if far:
            nodes = sorted({node for node, _ in far})
            (answers,) = self.trips.everywhere([("present", nodes)])
            there.update((node, of) for node, of in chain(*answers))
        return [[one for one in rows if there.issuperset(one.far_ends)] for rows in of_shards]

    def node_passages(self, request: NodesRequest) -> Sequence[NodePassage]:
        """Return the passage of a node from where it is; it is gone where it is nowhere."""
        (answers,) = self.trips.everywhere([("node_passages", request)])
        rows = [[NodePassage(*row) for row in of_shard] for of_shard in answers]
        found: dict[int, NodePassage] = {}
        for one in chain(*rows):
            if one.chunk_id or all(one in of_shard for of_shard in rows):
                found[one.node] = one
        return [found[one] for one in request.nodes if one in found]


def snippets_call(highlights: "Highlights", chunk_ids: Sequence[int]) -> Call:
    """Return what asks for the snippets of the passages of the call before."""
    lexemes = {name: meaning.lexemes for name, meaning in highlights.meanings.items()}
    corrections = ((one, highlights.corrections(one)) for one in chunk_ids)
    return "snippets", highlights.query, lexemes, [one for one in corrections if one[1]]


def pairs(answers: Iterable[Any]) -> Iterable[tuple[int, Any]]:
    """Return the pairs of mappings that came as lists of pairs."""
    return chain.from_iterable(answers)


def timeless(request: Any) -> Any:
    """Return a request without the time that it has."""
    return request._replace(timeout_ms=0.0) if "timeout_ms" in request._fields else request
