"""What an agent reads until it has the right passage: 50 questions over PostgreSQL's SQL pages.

    python tests/benchmarks/bench_agent_tokens.py [--database-url URL] [--json FILE] HTML

HTML is the manual's folder (Debian: postgresql-doc-15, /usr/share/doc/postgresql-doc-15/html), of
which the pages sql-*.html are ingested into a collection, once. Each question goes to the tool
`search` of `pgblend mcp`, with its usual arguments, as an agent would send it. Tokens (cl100k_base)
are counted to the end of the first passage that is of the right page and has the words that answer
the question; beside it to the first passage of that page. Where an answer has none, all of it is
counted, and the question as not found.
"""

import argparse
import html
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path
from sys import path

path.insert(0, str(Path(__file__).resolve().parents[1]))

from pgblend.cli.base.database import resolve_database_url
from pgblend.cli.base.token_count import count_tokens
from support.agent import Agent, over_stdio

COLLECTION = "postgresql_sql"
QUESTIONS = Path(__file__).with_name("agent_questions.json")
_PIECE = re.compile(r"<data-(\d+|\w+) kind=\"passage\".*?</data-\1>", re.DOTALL)


def ingest(url: str, manual: Path) -> None:
    """Bring the SQL pages in; those that are there are passed over."""
    pages = sorted(map(str, manual.glob("sql-*.html")))
    if not pages:
        sys.exit(f"there is no sql-*.html in {manual}: name the folder of the manual's HTML pages")
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", url, "ingest"]
    subprocess.run([*command, "--collection", COLLECTION, *pages], check=True)


def plain(text: str) -> str:
    """Return a text as it is compared: small letters, one blank between words."""
    return " ".join(html.unescape(text).lower().split())


def asked(agent: Agent, question: dict[str, str], limit: int | None) -> dict[str, object]:
    """Ask one question; return the tokens to the right passage, page, and of the whole answer."""
    more = {} if limit is None else {"limit": limit}
    said = agent.said("search", query=question["query"], collections=[COLLECTION], **more)
    text, source = said["text"], f"{COLLECTION}/{question['page']}.html"
    told: dict[str, object] = {"tokens": said["tokens"], "page": None, "passage": None}
    for place, piece in enumerate(_PIECE.finditer(text), 1):
        if source not in piece[0]:
            continue
        read = count_tokens(text[: piece.end()])
        told["page"] = told["page"] or read
        if plain(question["words"]) in plain(piece[0]):
            return {**told, "passage": read, "place": place}
    return told


def summed_up(name: str, found: list[dict[str, object]]) -> dict[str, object]:
    """Return the figures of one way to ask."""
    right = [one for one in found if one["passage"]]
    read = [int(str(one["passage"] or one["tokens"])) for one in found]
    return {
        "way": name,
        "questions": len(found),
        "page_found": sum(one["page"] is not None for one in found),
        "passage_found": len(right),
        "first": sum(one["place"] == 1 for one in right),
        "median_tokens": round(statistics.median(read)),
        "mean_tokens": round(statistics.mean(read)),
        "most_tokens": max(read),
        "answer_tokens": round(statistics.mean(int(str(one["tokens"])) for one in found)),
    }


def main() -> None:
    """Ingest, ask, print."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("manual", type=Path, metavar="HTML")
    options.add_argument("--database-url")
    options.add_argument("--json", type=Path, metavar="FILE", help="each question's figures")
    given = options.parse_args()
    url = resolve_database_url(given.database_url)
    questions = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    ingest(url, given.manual)
    details, rows = {}, []
    with over_stdio(url) as agent:
        for name, limit in (("as it comes", None), ("limit 3", 3), ("limit 1", 1)):
            details[name] = [one | asked(agent, one, limit) for one in questions]
            rows.append(summed_up(name, details[name]))
    if given.json:
        given.json.write_text(json.dumps(details, indent=1), encoding="utf-8")
    print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(f"{value}" for value in row.values()) + " |")


if __name__ == "__main__":
    main()
