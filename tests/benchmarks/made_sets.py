"""Judged sets made of what lies there: other languages, long queries, code, chat, tables, passages.

They are for choosing defaults on more than the ten sets with ready vectors. Judgements are of the
source (questions, answers, links) or automatic (a docstring and its function); no word of ours.

    python tests/benchmarks/made_sets.py FOLDER postgresql://…
    pgblend eval import FOLDER/locomo_chat --set locomo_chat
"""

import ast
import inspect
import json
import lzma
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click
import psycopg

QUERIES = 300  # of one set, at most
LONG = 60  # words of a long query
PASSAGE = 1000  # characters


class Made(NamedTuple):
    """A set: documents (key, title, text), queries by key, and the documents that answer them."""

    documents: list[tuple[str, str, str]]
    queries: dict[str, str]
    relevant: dict[str, set[str]]


def records(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a file of a collection, packed or not."""
    path = folder / name
    with path.open() if path.exists() else lzma.open(folder / f"{name}.xz", "rt") as lines:
        for line in lines:
            yield json.loads(line)


def judgements(folder: Path) -> dict[str, set[str]]:
    """Return the documents judged relevant, by query."""
    found = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")
        if float(grade) > 0:
            found[query].add(document)
    return dict(found)


def whole(folder: Path) -> Made:
    """Take a collection as it is."""
    documents = [
        (r["_id"], r.get("title") or "", r["text"]) for r in records(folder, "corpus.jsonl")
    ]
    queries = {r["_id"]: r["text"] for r in records(folder, "queries.jsonl")}
    return Made(documents, queries, judgements(folder))


def sample(folder: Path, most: int) -> Made:
    """Take the documents that answer the first queries, and others up to so many."""
    made = whole(folder)
    keys = list(made.queries)[:QUERIES]
    needed = set().union(*(made.relevant.get(key, set()) for key in keys))
    others = [row for row in made.documents if row[0] not in needed]
    random.Random(1).shuffle(others)
    kept = {key for key, _, _ in others[: most - len(needed)]} | needed
    return Made(
        [row for row in made.documents if row[0] in kept],
        {key: made.queries[key] for key in keys},
        made.relevant,
    )


def passages(folder: Path) -> Made:
    """Cut long documents into passages; those that hold an answer's first words are relevant."""
    texts = {r["_id"]: r["text"] for r in records(folder, "corpus.jsonl")}
    parts = {key: list(_cut(text)) for key, text in texts.items()}
    relevant, queries = {}, {}
    judged = judgements(folder)
    for record in records(folder, "queries.jsonl"):
        answers = [answer.strip()[:60] for answer in record.get("answers", []) if answer.strip()]
        found = {
            f"{document}#{index}"
            for document in judged.get(record["_id"], ())
            for index, part in enumerate(parts[document])
            if any(answer in part for answer in answers)
        }
        if found:
            queries[record["_id"]], relevant[record["_id"]] = record["text"], found
    documents = [
        (f"{key}#{index}", "", part) for key, cut in parts.items() for index, part in enumerate(cut)
    ]
    return Made(documents, queries, relevant)


def _cut(text: str) -> Iterator[str]:
    """Yield parts of about PASSAGE characters, ended at a sentence or a word."""
    while len(text) > PASSAGE:
        end = max(text.rfind(". ", 0, PASSAGE) + 1, text.rfind("\n", 0, PASSAGE))
        end = end if end > PASSAGE // 2 else max(text.rfind(" ", 0, PASSAGE), PASSAGE // 2)
        yield text[:end].strip()
        text = text[end:]
    yield text.strip()


def linked(folder: Path, links: str, keep: Callable[[list[str]], bool], cut: int) -> Made:
    """Ask with texts of LONG words and more for what they cite; the askers are no documents."""
    documents = {
        r["_id"]: (r["_id"], r.get("title") or "", r["text"][:cut])
        for r in records(folder, "corpus.jsonl")
    }
    packed = (folder / links).read_bytes()
    text = (lzma.decompress(packed) if links.endswith(".xz") else packed).decode()
    cites = defaultdict(set)
    for line in text.splitlines()[1:]:
        columns = line.split("\t")
        if keep(columns) and columns[0] != columns[1]:
            cites[columns[0]].add(columns[1])
    askers = [
        key
        for key, (_, _, text) in documents.items()
        if len(text.split()) >= LONG and len(cites[key]) >= 2
    ]
    random.Random(1).shuffle(askers)
    askers = askers[: min(QUERIES, len(documents) // 4)]
    left = documents.keys() - set(askers)
    relevant = {key: cites[key] & left for key in askers}
    return Made(
        [row for key, row in documents.items() if key in left],
        {key: f"{documents[key][1]}. {documents[key][2]}" for key in askers if relevant[key]},
        relevant,
    )


def functions(packages: Iterable[str], most: int) -> Made:
    """Ask with a docstring's first sentence for its function, whose text has no docstring then."""
    documents, queries = [], {}
    for package in packages:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            continue
        for path in sorted(Path(spec.origin).parent.rglob("*.py")):
            source = path.read_text(encoding="utf-8", errors="replace")
            for key, first, code in _functions(source):
                name = f"{package}/{path.stem}.{key}"
                documents.append((name, "", code))
                queries[name] = first
    pick = random.Random(1).sample(range(len(documents)), min(most, len(documents)))
    kept = {documents[index][0]: documents[index] for index in pick}
    texts = defaultdict(list)
    for key in kept:
        texts[queries[key]].append(key)
    asked = {key[0]: text for text, key in texts.items() if len(key) == 1}
    chosen = dict(list(asked.items())[:QUERIES])
    return Made(list(kept.values()), chosen, {key: {key} for key in chosen})


def _functions(source: str) -> Iterator[tuple[str, str, str]]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
            first = re.split(r"(?<=\.)\s|\n\n", inspect.cleandoc(text))[0].replace("\n", " ")
            node.body = node.body[1:] or [ast.Pass()]
            code = ast.unparse(node)
            if 5 <= len(first.split()) <= 30 and len(code) > 120:
                yield f"{node.name}:{node.lineno}", first, code[:2000]


def settings_table(url: str) -> Made:
    """Ask with what a setting of PostgreSQL does for its row in the table of settings."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT name, short_desc, concat_ws(' | ', name, category, vartype, unit, min_val,"
            " max_val, array_to_string(enumvals, ', '), boot_val, context, extra_desc)"
            " FROM pg_settings WHERE name NOT LIKE '%.%' ORDER BY name"
        ).fetchall()
        functions_of = connection.execute(
            "SELECT p.oid::regprocedure::text, d.description, concat_ws(' | ', p.proname,"
            " pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), p.provolatile)"
            " FROM pg_proc AS p JOIN pg_description AS d ON d.objoid = p.oid AND d.objsubid = 0"
            " AND d.classoid = 'pg_proc'::regclass WHERE p.oid < 16384"
            " AND d.description NOT LIKE 'implementation of%' AND length(d.description) > 20"
            " ORDER BY 1"
        ).fetchall()
    documents = [(key, "", text) for key, _, text in [*rows, *functions_of]]
    asked = dict(
        random.Random(1).sample([(k, q) for k, q, _ in functions_of], 180)
        + [(k, q) for k, q, _ in rows]
    )
    chosen = dict(random.Random(1).sample(list(asked.items()), QUERIES))
    return Made(documents, chosen, {key: {key} for key in chosen})


def made_sets(data: Path, url: str) -> dict[str, Callable[[], Made]]:
    """Map the name of each set to what makes it."""
    ir = data / "ir"
    packages = ("sqlalchemy", "click", "rich", "psycopg", "httpx", "numpy", "starlette", "PIL")
    return {
        **{
            f"xquad-{language}": lambda language=language: whole(ir / f"xquad-{language}")
            for language in ("es", "ru", "zh", "tr")
        },
        "piaf_fr": lambda: whole(ir / "piaf_fr"),
        "legalquad_passages": lambda: passages(ir / "legalquad_de"),
        "covidqa_passages": lambda: passages(ir / "covidqa_long"),
        "locomo_chat": lambda: whole(ir / "locomo_chat"),
        "wiki_en_sample": lambda: sample(ir / "wiki_en", 4000),
        "gesetze_de_sample": lambda: sample(ir / "gesetze_de_core", 4000),
        "cacm_links": lambda: linked(
            ir / "cacm", "links.tsv.xz", lambda c: c[2] == "citation", 4000
        ),
        "cisi_links": lambda: linked(ir / "cisi", "links.tsv.xz", lambda c: int(c[2]) >= 5, 4000),
        "peps_links": lambda: linked(ir / "peps_graph", "links.tsv", lambda c: True, 2000),
        "python_functions": lambda: functions(packages, 3000),
        "settings_table": lambda: settings_table(url),
    }


def write(made: Made, folder: Path) -> None:
    """Write a set as the files that `pgblend eval import` reads, with at most QUERIES queries."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = {key for key, _, _ in made.documents}
    asked = [key for key in made.queries if made.relevant.get(key, set()) & keys]
    step = max(1, -(-len(asked) // QUERIES))
    with (folder / "corpus.jsonl").open("w") as file:
        for key, title, text in made.documents:
            print(json.dumps({"_id": key, "title": title, "text": text}), file=file)
    with (folder / "queries.jsonl").open("w") as file, (folder / "qrels.tsv").open("w") as qrels:
        print("query-id\tcorpus-id\tscore", file=qrels)
        for key in asked[::step]:
            print(json.dumps({"_id": key, "text": made.queries[key]}), file=file)
            for document in sorted(made.relevant[key] & keys):
                print(key, document, 1, sep="\t", file=qrels)


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.argument("url")
def main(folder: Path, url: str) -> None:
    """Write all sets into FOLDER; the tables are those of the server at URL."""
    data = Path(__file__).resolve().parents[3] / "shared" / "data"
    for name, make in made_sets(data, url).items():
        made = make()
        write(made, folder / name)
        click.echo(f"{name}: {len(made.documents)} documents")


if __name__ == "__main__":
    main()
