"""All benches one after another, one table, and pictures: `make bench`.

    python tests/benchmarks/bench.py [--passages N] [--growth] [--postgresql-18] …

Runs on a PostgreSQL server made for it. A bench that fails or takes too long is a row of the table
that says so, the others go on, and the exit code is 1; what cannot be had here is named. Everything
is kept in build/bench: report.json, report.md (the table of ratios, then all figures), quality.png,
growth.png and memory.png, and what each bench printed (NAME.log).
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
from corpora import DATA
from plots import draw
from systems.server_database import measured_server, server_url
from targets import compared, markdown

HERE = Path(__file__).resolve().parent
LIMIT_SECONDS = 1800
GROWTH_SECONDS = 3 * 3600
SIZES = (10_000,)  # beside --passages
WIDTHS = (384, 1536)  # dimensions: all-MiniLM-L6-v2's, text-embedding-3-small's
QUALITY = ("xquad-de", "scifact", "mixed")


@dataclass(frozen=True)
class Step:
    """One bench: its script's arguments, and how long it may take."""

    name: str
    arguments: tuple[str, ...]
    seconds: int = LIMIT_SECONDS


def steps(server: str, given: argparse.Namespace) -> list[Step]:
    """Return what is to run, in order: later ones use databases of earlier ones."""
    passages, on = str(given.passages), ("--server", server)
    filled = f"{server}/bench_blend_wiki_{passages}"
    documents = (str(DATA / "docs" / "good"), str(DATA / "obsidian_vault"))
    questions = str(DATA / "ir" / "wiki_en" / "queries.jsonl")
    others = sorted({*(given.sizes if given.growth else SIZES)} - {given.passages})
    sizes = (*others, given.passages)  # the last one is asked by several clients
    long = () if given.long == 0 else ("--long", str(given.long or given.passages))
    wide = ("--dimensions", *map(str, given.dimensions))
    found = [
        Step("peers", (*on, *given.corpora)),
        Step("hybrid", (*on, "--clients", *long, *wide, "--", *map(str, sizes)), GROWTH_SECONDS),
        Step("first_search", (*on, *map(str, sorted(sizes)))),
        Step("thorough", (filled,)),
        Step("fuzzy", (filled, "bench", questions)),
        Step("filters", (server, str(given.filter_passages))),
        Step("split", (filled,)),
        Step("ingest", (filled, *documents)),
        Step("memory", (filled,)),
    ]
    return [step for step in found if not given.only or step.name in given.only]


def run(step: Step) -> list[figures.Row]:
    """Run one bench in a process of its own; return its rows, or one that says how it failed."""
    result = figures.FOLDER / f"{step.name}.json"
    log = figures.FOLDER / f"{step.name}.log"
    result.unlink(missing_ok=True)
    script = HERE / f"bench_{step.name}.py"
    failure = None
    with log.open("w", encoding="utf-8") as output:
        try:
            done = subprocess.run(
                [sys.executable, script, *step.arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=step.seconds,
                check=False,
            )
            if done.returncode:
                failure = f"exit code {done.returncode}, see {log}"
        except subprocess.TimeoutExpired:
            failure = f"not done after {step.seconds} s, see {log}"
    if failure is None and not result.exists():
        failure = f"no figures, see {log}"
    if failure:
        return [{"bench": step.name, "case": "", "system": "", "error": failure}]
    rows: list[figures.Row] = json.loads(result.read_text(encoding="utf-8"))
    return rows


@contextmanager
def server_of(given: argparse.Namespace) -> Iterator[str]:
    """Give the superuser's URL, without a database, of the server to run on."""
    if given.server:
        yield given.server
    elif given.postgresql_18:
        from bench_lexical import ROOT
        from bench_lexical_server import peer_server

        with peer_server(ROOT) as url:
            yield url
    else:
        with measured_server() as parts:
            yield "postgresql://{user}:{password}@{host}:{port}".format(**parts)


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="All benches, in one table.")
    parser.add_argument(
        "--server", type=server_url, help="a superuser's URL without a database (its own otherwise)"
    )
    parser.add_argument("--passages", type=int, default=100_000, help="of wiki_en, for times")
    parser.add_argument("--filter-passages", type=int, default=20_000, help="for filters")
    parser.add_argument("--corpora", nargs="*", default=QUALITY, help="judged sets, or mixed")
    parser.add_argument("--long", type=int, help="of 1,500 characters (as many; 0: none)")
    parser.add_argument(
        "--dimensions", nargs="+", type=int, default=WIDTHS, help="of vectors, for times"
    )
    parser.add_argument("--growth", action="store_true", help="more sizes (an hour more)")
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=(10_000, 100_000, 500_000), help="of the growth"
    )
    parser.add_argument(
        "--postgresql-18",
        action="store_true",
        help="on a PostgreSQL 18 with pg_textsearch (root and debootstrap)",
    )
    parser.add_argument("--only", nargs="+", help="these benches, such as peers hybrid")
    return parser.parse_args(given)


def command_of(asked: Sequence[str], server: str | None) -> str:
    """Return the command that was given, to be published: without the server's URL and password."""
    options = " ".join(asked)
    if server:
        options = options.replace(server, "URL")
    return "make bench" + (f" BENCH={options!r}" if options else "")


def main() -> None:
    """Run everything, then print, keep and draw it."""
    given = arguments()
    figures.FOLDER.mkdir(parents=True, exist_ok=True)
    machine = figures.machine()
    rows: list[figures.Row] = []
    with server_of(given) as server:
        for step in steps(server, given):
            print(f"{step.name} …", file=sys.stderr, flush=True)
            rows += run(step)
    command = command_of(sys.argv[1:], given.server)
    table, pictures = compared(rows), draw(rows, figures.FOLDER)
    about = {"machine": machine | {"command": command}, "pictures": pictures}
    report = about | {"table": table, "rows": rows}
    (figures.FOLDER / "report.json").write_text(json.dumps(report), encoding="utf-8")
    heading = f"`{command}`: " + ", ".join(f"{key} {value}" for key, value in machine.items())
    text = f"{heading}\n\n{markdown(table)}\n\n{figures.tables(rows)}\n"
    (figures.FOLDER / "report.md").write_text(text, encoding="utf-8")
    print(text)
    failed = [row for row in rows if "error" in row]
    for row in failed:
        print(f"FAILED: {row['bench']} {row['case']} {row['system']}: {row['error']}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
