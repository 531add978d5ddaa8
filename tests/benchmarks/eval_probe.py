"""Is a table's vectors' model known from twenty rows? Judges the bounds of probe_attached_table.

    python tests/benchmarks/eval_probe.py [--samples N] [SET …]

Rows are samples of twenty documents of judged sets with the vectors that they came with:
all-MiniLM-L6-v2 of "title text", in floats. The model is asked for vectors of texts that are the
same, or less like what was embedded; then vectors are of other rows, or the model is another
(multilingual-e5-small, extra multilingual: a third of a second a text). A row of the table has the
least and the most of what the samples gave, and how many were taken for the model's.
"""

import argparse
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from sys import path

path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from corpora import ENGLISH, Document, judged
from numpy.typing import NDArray

from pgblend.cli.models.embedding_models import E5Model, EmbeddingModel, MiniLmModel

ROWS = 20
BOUNDS = re.search(
    r"likeness >= ([\d.]+) OR likeness >= ([\d.]+) AND nearest \* 2 > compared",
    (Path(__file__).resolve().parents[2] / "sql/60_tables/attached_vectors.sql").read_text(),
)
assert BOUNDS
LIKE, LESS_LIKE = map(float, BOUNDS.groups())
Vectors = NDArray[np.float32]
TEXTS: dict[str, Callable[[Document], str]] = {
    "the same text": lambda one: one.whole,
    "without the title": lambda one: one.text or one.title,
    "the first 200 characters": lambda one: one.whole[:200],
    "HTML around it": lambda one: f"<div class='body'><p>{one.whole}</p></div>",
    "the title alone": lambda one: one.title or one.text[:60],
}


def embedded(model: EmbeddingModel, texts: Sequence[str]) -> Vectors:
    """Return the vectors that a loaded model gives."""
    return np.frombuffer(model._encode(list(texts), True).payload, "<f4").reshape(len(texts), -1)


def told(given: Vectors, stored: Vectors) -> tuple[float, int, bool]:
    """Return likeness, nearest and same_model as probe_attached_table does."""
    cosines = given @ stored.T
    own = np.diag(cosines)
    nearest = int((own >= cosines.max(axis=1) - 1e-6).sum())
    likeness = float(np.median(own))
    return likeness, nearest, likeness >= LIKE or (likeness >= LESS_LIKE and nearest * 2 > ROWS)


def main() -> None:
    """Judge the sets named on the command line."""
    parser = argparse.ArgumentParser(description="The bounds of probe_attached_table.")
    parser.add_argument("--samples", type=int, default=3, help="of each set")
    parser.add_argument("sets", nargs="*", default=ENGLISH)
    given = parser.parse_args()
    models: list[EmbeddingModel] = [MiniLmModel("own"), E5Model("other")]
    for model in models:
        model._model = model._read()
    own, other = models
    found: dict[str, list[tuple[float, int, bool]]] = {}
    for name in given.sets:
        documents = list(judged(name).documents())
        chosen = random.Random(1)
        for _ in range(given.samples):
            rows = chosen.sample(documents, ROWS)
            stored = np.stack([one.vector for one in rows])
            stored /= np.linalg.norm(stored, axis=1, keepdims=True)
            for case, text in TEXTS.items():
                found.setdefault(case, []).append(told(embedded(own, map(text, rows)), stored))
            of_others = told(embedded(own, [one.whole for one in rows]), np.roll(stored, 1, axis=0))
            found.setdefault("vectors of other rows", []).append(of_others)
            of_other = embedded(other, [one.whole[:500] for one in rows])
            found.setdefault("another model", []).append(told(of_other, stored))
    print(f"taken for the model's: likeness {LIKE}, or {LESS_LIKE} and over half are nearest")
    print("rows                      samples  likeness        nearest of 20  taken")
    for case, results in found.items():
        likenesses, nearest, taken = zip(*results, strict=True)
        print(
            f"{case:25} {len(results):7}  {min(likenesses):5.2f} to {max(likenesses):5.2f}"
            f"  {min(nearest):5} to {max(nearest):2}  {sum(taken):5}"
        )


if __name__ == "__main__":
    main()
