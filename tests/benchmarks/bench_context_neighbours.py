"""What the text around passages is worth: evidence in a context of a fixed size, on long chats.

    python tests/benchmarks/bench_context_neighbours.py SERVER_URL [EVERY]

Makes a database of its own on the server (context_locomo, dropped first). A session of
locomo_chat is a document, each turn a passage; a question is searched by words within its own
conversation, EVERY n-th question (4). Prints for each budget and each context_chars the mean share
of a question's evidence turns whose whole text is in the context.
"""

import json
import lzma
import sys
from collections import defaultdict
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.token_count import piece_tokens
from pgblend.migrations import runner

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "ir" / "locomo_chat"
DATABASE = "context_locomo"
BUDGETS = (250, 500, 1000, 2000)
AROUND = {"none": (0, 0), "100": (100, 100), "200": (200, 200), "500": (500, 500),
          "after 200": (0, 200), "before 200": (200, 0)}  # fmt: skip
INGEST = "SELECT blend.ingest_document('chat', %s, '', metadata => %s, chunks => %s)"
CONTEXT = """
    SELECT blend.get_context(%s, 100, filter => %s, options => %s)
"""


def load(connection: psycopg.Connection) -> dict[str, str]:
    """Ingest the sessions; return the text of each turn."""
    turns: dict[str, str] = {}
    sessions: dict[str, list[dict[str, object]]] = defaultdict(list)
    conversations = {}
    with lzma.open(DATA / "corpus.jsonl.xz", "rt", encoding="utf-8") as file:
        for line in file:
            turn = json.loads(line)
            text = turn["text"].strip()
            turns[turn["_id"]] = text
            key = turn["_id"].rsplit(":", 1)[0]
            conversations[key] = turn["metadata"]["conversation"]
            tokens = piece_tokens(text)
            sessions[key].append(
                {"content": text, "token_count": sum(tokens), "piece_tokens": tokens}
            )
    connection.execute("SELECT blend.add_collection('chat')")
    with connection.transaction():
        for key, chunks in sessions.items():
            metadata = json.dumps({"conversation": conversations[key]})
            connection.execute(INGEST, [key, metadata, json.dumps(chunks)])
    connection.execute("SELECT blend.lexical_seal('chat')")
    connection.execute("ANALYZE")
    return turns


def questions(every: int) -> list[tuple[str, str, list[str]]]:
    """Return text, conversation and evidence turns of the questions that have some."""
    evidence: dict[str, list[str]] = defaultdict(list)
    for line in (DATA / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, turn, grade = line.split("\t")
        if int(grade) > 0:
            evidence[query].append(turn)
    lines = (DATA / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line) for line in lines]
    return [
        (query["text"], query["metadata"]["conversation"], evidence[query["_id"]])
        for query in asked
        if evidence[query["_id"]]
    ][::every]


def recall(
    connection: psycopg.Connection,
    asked: list[tuple[str, str, list[str]]],
    turns: dict[str, str],
    budget: int,
    around: tuple[int, int],
) -> tuple[float, float]:
    """Return the mean evidence recall and the mean tokens of the contexts."""
    before, after = around
    options = json.dumps(
        {
            "max_tokens": budget,
            "context_chars": {"before": before, "after": after},
            "weights": {"vector": 0},
            "timeouts_ms": {"lexical": 60000},
        }
    )
    shares = tokens = 0.0
    for text, conversation, evidence in asked:
        query = " ".join(text.replace('"', " ").replace("-", " ").split())
        row = connection.execute(
            CONTEXT, [query, json.dumps({"conversation": conversation}), options]
        ).fetchone()
        assert row is not None
        told: dict[str, str] = defaultdict(str)
        for part in row[0]["parts"]:
            told[part["source_key"]] += part["text"] + "\n"
        found = sum(turns[turn] in told[turn.rsplit(":", 1)[0]] for turn in evidence)
        shares += found / len(evidence)
        tokens += row[0]["stats"]["tokens"]
    return shares / len(asked), tokens / len(asked)


def main(server: str, every: int) -> None:
    """Load, ask, print."""
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {DATABASE}")
    url = make_conninfo(server, dbname=DATABASE)
    runner.upgrade(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET client_min_messages = error")
        turns = load(connection)
        asked = questions(every)
        print(f"{len(asked)} questions; evidence recall (mean tokens)")
        print(f"{'around':12}" + "".join(f"{budget:>16}" for budget in BUDGETS))
        for name, around in AROUND.items():
            cells = []
            for budget in BUDGETS:
                share, tokens = recall(connection, asked, turns, budget, around)
                cells.append(f"{share:.3f} ({tokens:.0f})")
            print(f"{name:12}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4)
