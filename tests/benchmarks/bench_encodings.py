"""How often the encoding of a text that is not UTF-8 is guessed right, by the text's length.

    python tests/benchmarks/bench_encodings.py [FOLDER]

Texts are those of XQuAD in FOLDER (xquad-de, …), in old encodings of their languages. A guess is
right where it gives the text; it is sure where ingest says nothing of it.
"""

import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from made_sets import records

from pgblend.cli.documents.decode import guess_encoding

ENCODINGS = {
    "ar": ("cp1256",),
    "de": ("cp1252", "mac_roman", "cp850"),
    "el": ("cp1253",),
    "es": ("cp1252",),
    "ro": ("iso8859-2",),
    "ru": ("cp1251", "koi8-u", "cp866"),
    "th": ("cp874",),
    "tr": ("cp1254",),
    "zh": ("gb18030",),
}
LENGTHS = (40, 120, 600)  # characters
SAMPLES = 60  # of each encoding and length
DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "ir"


def samples(folder: Path, encoding: str, length: int) -> Iterator[tuple[str, bytes]]:
    """Yield parts of texts that the encoding can hold and that are not ASCII, with their bytes."""
    texts = [record["text"] for record in records(folder, "corpus.jsonl")]
    chance = random.Random(length)
    left = SAMPLES
    for text in chance.sample(texts, len(texts)):
        start = chance.randrange(max(len(text) - length, 1))
        part = text[start : start + length]
        try:
            data = part.encode(encoding)
        except UnicodeEncodeError:
            continue
        if left and len(part) == length and not part.isascii():
            left -= 1
            yield part, data


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path), default=DATA)
def main(folder: Path) -> None:
    """Print a table: a row for each length."""
    print("| characters | texts | right | sure | wrong though sure | ms a text |")
    print("|---|---|---|---|---|---|")
    for length in LENGTHS:
        counts, seconds = Counter[str](), 0.0
        for language, encodings in ENCODINGS.items():
            for encoding in encodings:
                for text, data in samples(folder / f"xquad-{language}", encoding, length):
                    start = time.perf_counter()
                    guess = guess_encoding(data)
                    seconds += time.perf_counter() - start
                    right = guess is not None and data.decode(guess.encoding, "replace") == text
                    sure = guess is not None and guess.sure
                    counts.update(texts=1, right=right, sure=sure, wrong=sure and not right)
        share = 100 * counts["right"] / counts["texts"]
        each = 1000 * seconds / counts["texts"]
        print(
            f"| {length} | {counts['texts']:,} | {share:.1f} % | {counts['sure']:,} |"
            f" {counts['wrong']:,} | {each:.0f} |"
        )


if __name__ == "__main__":
    main()
