"""A shard that answers nonsense: it is named and left out, and what the others have is found."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pgblend.cli.base.database import connect
from support.database import Database
from support.sampled import sampled
from support.shards import Scale

COUNT, BROKEN = 3, 1
MOST_MS = 120_000  # a search that hangs is an error
# The routine that a shard answers by, between its real answer and the coordinator. `calls` has the
# name and arguments of each, `answers` what is said to it.
_LIAR = """
CREATE FUNCTION pgblend._answer_shards(shards integer[], calls text[], trip text)
RETURNS TABLE (shard integer, answer text) LANGUAGE plpython3u AS $python$
import json, struct
from base64 import b64decode, b64encode
plan = plpy.prepare(
    "SELECT * FROM pgblend._at_once($1, $2, $3)", ["integer[]", "text[]", "text"])
found = []
for row in plpy.execute(plan, [shards, calls, trip]):
    asked = json.loads(trip)["calls"] + json.loads(calls[shards.index(row["shard"])])
    answers = json.loads(row["answer"])
    for (name, *_), said in zip(asked, answers):
        if name == NAME and (said.get("value") or name == "check_index"):
            value = said["value"]
            LIE
            said["value"] = value
    found.append((row["shard"], json.dumps(answers)))
return found
$python$
"""
# Columns of candidates, as they travel: chunk ids, document ids, chunk indexes, scores.
_READ = """
            n = len(b64decode(value[0])) // 28
            layout = f"<{n}q{n}q{n}i{n}d"
            columns = list(struct.unpack(layout, b64decode(value[0])))
            CHANGE
            value[0] = b64encode(struct.pack(layout, *columns)).decode()
"""
LISTS = {
    "NaN": "columns[-1] = float('nan')",
    "infinite": "columns[-1] = float('inf')",
    "twice": "columns[1] = columns[0]",
    "unknown ids": "columns[:n] = [one + 10**9 for one in columns[:n]]",
    # Facts that fit the shape, and cannot be true.
    "beyond the best": "columns[3 * n] += 10**6",
    "below the worst": "columns[-1] = -2.0",
    "worst first": "columns[3 * n :] = [columns[3 * n] * (m + 1) / n for m in range(n)]",
}
LIES = {
    "count: a text": ("count", "value[0] = 'x'"),
    "count: none": ("count", "value[0] = None"),
    "count: true": ("count", "value[0] = True"),
    "count: below 0": ("count", "value[0] = -1"),
    "count: huge": ("count", "value[1] = 10**400"),
    "count: infinite": ("count", "value[1] = 1e999"),
    "count: too few": ("count", "value[2] = []"),
    "count: nested": ("count", "value[2] = [value[2]]"),
    "count: a column less": ("count", "value.pop()"),
    "count: more passages than there are": ("count", "value[2] = [value[0] + 1 for _ in value[2]]"),
    "configurations: numbers": ("configurations", "value = [1]"),
    "configurations: nested": ("configurations", "value = [[['english']]]"),
    "check: a text": ("check_index", "value = 'x'"),
    "hold: numbers": ("hold", "value = [1, 1, 1]"),
    "find: no base64": ("find", "value[0] = '!'"),
    "find: cut": ("find", "value[0] = value[0][:-4]"),
    "find: an object": ("find", "value = {'a': 1}"),
    "find: parts": ("find", "value[1] = [7]"),
    "find: parts of texts": ("find", "value[1] = ['x' for _ in value[1]]"),
    "find: perfect": ("find", "value[2] = 'x'"),
    "find: a perfect score of its own": ("find", "value[2] *= 1000"),
    "nearest: a number": ("nearest", "value = 7"),
    "hashes: one less": ("hashes", "value = b64encode(b64decode(value)[4:]).decode()"),
    "hashes: a list": ("hashes", "value = [1]"),
    "passages: none": ("passages", "value = []"),
    "passages: an object": ("passages", "value = {'rows': value}"),
    "passages: a text as id": ("passages", "value[0][0] = 'x'"),
    "passages: no text": ("passages", "value[0][1] = None"),
    "passages: zero byte": ("passages", "value[0][1] = 'a' + chr(0)"),
    "passages: half a character": ("passages", "value[0][1] = chr(0xd800)"),
    "passages: offset": ("passages", "value[0][3] = 2**40"),
    "passages: pages": ("passages", "value[0][7] = [['x']]"),
    "passages: metadata": ("passages", "value[0][8] = '{'"),
    "passages: metadata NaN": ("passages", "value[0][8] = '{\"a\": NaN}'"),
    "passages: metadata deep": ("passages", "value[0][8] = '[' * 100000"),
    "passages: twice": ("passages", "value.append(value[0])"),
    "passages: others'": ("passages", "value[0][0] += 10**9"),
    "passages: a column less": ("passages", "value[0].pop()"),
    "snippets: a number": ("snippets", "value[0][1] = 7"),
    "snippets: no pairs": ("snippets", "value = [1]"),
    **{
        f"{name}: {kind}": (name, _READ.replace("CHANGE", change).strip())
        for name in ("find", "nearest")
        for kind, change in LISTS.items()
    },
}


@contextmanager
def lying(shard: Database, name: str, lie: str) -> Iterator[None]:
    """A shard whose answers to a call are changed on their way."""
    routine = "pgblend._answer_shards(integer[], text[], text)"
    shard.rows(f"ALTER FUNCTION {routine} RENAME TO _at_once")
    shard.rows(_LIAR.replace("NAME", repr(name)).replace("LIE", lie))
    try:
        yield
    finally:
        shard.rows(f"DROP FUNCTION {routine}")
        shard.rows("ALTER FUNCTION pgblend._at_once RENAME TO _answer_shards")


@pytest.mark.extended
@pytest.mark.parametrize(("name", "lie"), sampled(LIES, 9))
def test_a_shard_that_answers_nonsense_is_named_and_the_others_are_shown(
    three_shards: Scale, name: str, lie: str
) -> None:
    elsewhere = {
        chunk_id
        for number, shard in enumerate(three_shards.shards)
        if number != BROKEN
        for chunk_id in shard.column("SELECT c.id FROM pgblend_data.chunk AS c")
    }
    options = {"vector_scan": "exact", "timeouts_ms": {"total": 60000, "lexical": 60000}}
    with (
        lying(three_shards.shards[BROKEN], name, lie),
        connect(three_shards.coordinator.url) as new,
    ):
        new.execute(f"SET statement_timeout = {MOST_MS}".encode())
        found = Database(new).rows(
            "SELECT chunk_id, degraded FROM hybrid_search('wine', 100, options => %s,"
            " query_embedding => '[1,2,3,4,5,6,7,8]')",
            json.dumps(options),
        )
    assert {chunk_id for chunk_id, _ in found} == elsewhere
    (told,) = found[0][1]
    assert told.startswith(f"shards: 1 of {COUNT} did not answer (b{BROKEN}: ")


@pytest.mark.extended
@pytest.mark.parametrize("liar", [0, 2])
def test_a_shard_that_names_the_id_of_another_s_passage_does_not_take_its_place(
    three_shards: Scale, liar: int
) -> None:
    honest = three_shards.shards[1]
    theirs = (honest.value("SELECT s.number FROM pgblend_data.shard_self AS s") << 40) + 7
    with (
        storing(honest, theirs, "wine of their own"),
        storing(three_shards.shards[liar], theirs, "wine, and words that nobody may hide"),
        connect(three_shards.coordinator.url) as new,
    ):
        found = Database(new).rows(
            "SELECT chunk_id, content, degraded FROM lexical_search('wine', 100)"
        )
    assert {text for chunk_id, text, _ in found if chunk_id == theirs} == {"wine of their own"}
    (told,) = found[0][2]
    assert told.startswith(f"shards: 1 of {COUNT} did not answer (b{liar}: ")


@contextmanager
def storing(shard: Database, chunk_id: int, content: str) -> Iterator[None]:
    """A shard whose first passage has another text, and an id that is given."""
    key, was, following = shard.row(
        "SELECT d.source_key, c.content, (SELECT max(id) + 1 FROM pgblend_data.chunk)"
        " FROM pgblend_data.chunk AS c JOIN pgblend_data.document AS d ON d.id = c.document_id"
        " ORDER BY c.id LIMIT 1"
    )
    restart = (
        "ALTER TABLE pgblend_data.chunk ALTER COLUMN id SET MINVALUE 1 SET NO MAXVALUE RESTART {}"
    )
    store = "SELECT ingest_document('books', %s, %s)"
    shard.rows(restart.format(chunk_id))
    shard.rows(store, key, content)
    try:
        yield
    finally:
        shard.rows(restart.format(following))
        shard.rows(store, key, was)
