"""Our splitter beside semantic-text-splitter and langchain-text-splitters.

    pip install --target FOLDER semantic-text-splitter langchain-text-splitters
    PYTHONPATH=$PYTHONPATH:FOLDER python tests/benchmarks/bench_split_peers.py [CHARACTERS]

Each splits the same texts of three judged collections into 400 tokens of cl100k_base with an
overlap of 80. Processor time, and how near the result is to what B1 asks for: chunks over 400
tokens, chunks under 40 (of texts that have more), characters that are in no chunk (white space
left out), tokens of overlap, and where chunks end: after a paragraph, a line, a sentence, a word,
or within a word.
"""

import json
import lzma
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from pathlib import Path

from pgblend.cli.base.token_count import count_tokens, token_ends
from pgblend.plpy.lexical.split_text import split_text

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "ir"
CORPORA = ("legalquad_de", "covidqa_long", "xquad-zh")
SIZE, OVERLAP, LEAST = 400, 80, 40
_SENTENCE_ENDS = tuple(".?!;\u3002\uff1f\uff01\uff1b")
SEPARATORS = ["\n\n", "\n", ". ", "? ", "! ", "; ", " ", ""]

Span = tuple[int, int]
Splitter = Callable[[str], list[Span]]


def ours(text: str) -> list[Span]:
    chunks = split_text(text, count_tokens, SIZE, OVERLAP, LEAST, token_ends(text))
    return [(chunk["start_offset"], chunk["end_offset"]) for chunk in chunks]


def semantic() -> Splitter:
    from semantic_text_splitter import TextSplitter

    splitter = TextSplitter.from_tiktoken_model("gpt-4", SIZE, overlap=OVERLAP)
    return lambda text: [
        (start, start + len(chunk)) for start, chunk in splitter.chunk_indices(text)
    ]


def langchain() -> Splitter:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        length_function=count_tokens,
        chunk_size=SIZE,
        chunk_overlap=OVERLAP,
        separators=SEPARATORS,
        keep_separator="end",
    )

    def split(text: str) -> list[Span]:
        spans: list[Span] = []
        for chunk in splitter.split_text(text):
            start = text.find(chunk, spans[-1][0] + 1 if spans else 0)
            spans.append((start, start + len(chunk)))
        return spans

    return split


def texts(name: str) -> Iterator[str]:
    with lzma.open(DATA / name / "corpus.jsonl.xz", "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)["text"]


def end_kind(text: str, end: int) -> str:
    """Say what a chunk ends with, white space on either side of its end included."""
    body = text[:end].rstrip()
    gap = text[len(body) : end] + text[end : end + 2]
    gap = gap[: len(gap) - len(gap.lstrip())]
    if "\n\n" in gap:
        return "paragraph"
    if "\n" in gap:
        return "line"
    if body[-1:] in _SENTENCE_ENDS:
        return "sentence"
    return "word" if gap else "within a word"


def measure(label: str, splitter: Splitter, documents: list[str]) -> None:
    splitter(documents[0][:1000])  # loads its tables
    started = time.process_time()
    found = [splitter(text) for text in documents]
    seconds = time.process_time() - started
    over = under = lost = count = overlap = 0
    ends: Counter[str] = Counter()
    for text, spans in zip(documents, found, strict=True):
        count += len(spans)
        covered = 0
        for start, end in spans:
            lost += len("".join(text[covered:start].split())) if start > covered else 0
            covered = max(covered, end)
            tokens = count_tokens(text[start:end])
            over += tokens > SIZE
            under += tokens < LEAST and len(spans) > 1
        lost += len("".join(text[covered:].split()))
        overlap += sum(
            count_tokens(text[second:first])
            for (_, first), (second, _) in pairwise(spans)
            if second < first
        )
        ends.update(end_kind(text, end) for _, end in spans[:-1])
    characters = sum(map(len, documents))
    total = max(sum(ends.values()), 1)
    print(
        f"  {label:9} {characters / seconds / 1e6:6.2f} MB/s {count:6} chunks, {over} over {SIZE}, "
        f"{under} under {LEAST}, {lost} characters lost, overlap {overlap / total:4.0f}; ends: "
        + ", ".join(f"{kind} {100 * number / total:.0f} %" for kind, number in ends.most_common())
    )


def main(most: int) -> None:
    ways = {"ours": ours, "semantic": semantic(), "langchain": langchain()}
    for name in CORPORA:
        documents: list[str] = []
        for text in islice(texts(name), 100_000):
            if sum(map(len, documents)) > most:
                break
            documents.append(text)
        print(f"{name}: {len(documents)} texts, {sum(map(len, documents)):,} characters")
        for label, splitter in ways.items():
            measure(label, splitter, documents)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
