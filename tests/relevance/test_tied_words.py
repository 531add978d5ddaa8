"""Words that 25 to 300 passages have: the first row has them, on four collections of templates.

Once as they are, and once with a text of a near variant of each of 25 such words.
"""

import asyncio
import random
import re
from collections import Counter

import numpy as np
import pytest

from pgblend.cli.base.extras import how_to_install, missing
from pgblend.cli.models.embedding_models import MiniLmModel
from support.database import Database, add_documents, stage, vector_literal

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("local")), reason=f"needs {how_to_install('local')}"),
]

LEAST = 0.97  # of the queries
SINGLE, PAIRS = 60, 30  # queries of a collection
TEMPLATES: dict[str, tuple[str, list[str]]] = {
    "german": (
        "templates",
        [
            "Rechnung {n} an {Hofmann|Brandt|Seidel|Kaiser} ist überfällig seit {Montag|Freitag}",
            "Mahnung {n}: {Hofmann|Brandt|Seidel} hat {n} Euro nicht beglichen",
            "Im {Keller|Flur|Bad} von {Brandt|Kaiser} tropft das Ventil seit {Montag|Dienstag}",
            "Gutschrift {n} wegen Reklamation der {Pumpe|Armatur}, Bearbeiter {Seidel|Jung}",
            "Der Monteur prüft den {Brenner|Kessel|Zähler} bei {Kaiser|Jung} am {Dienstag|Freitag}",
        ],
    ),
    "english": (
        "tickets",
        [
            "Ticket {n}: {login|billing|search|mail} fails: {ERR-1042|E400|OOM-9} on {web-7|db1}",
            "Ticket {n}: customer cannot finish, {billing|mail} returns {E400|E503}",
            "Ticket {n}: {Anna|Omar|Priya} asks to reset a password of the {login|search} account",
            "Ticket {n}: deployment of {billing|search} rolled back after {ERR-1042|disk_full}",
            "record {n} about {topic1|topic2|topic3|topic4} fine",
        ],
    ),
    "english and german": (
        "mails",
        [
            "Dear {Mr Brown|Ms Novak},\n\nplease find the {contract|statement|invoice} attached."
            " The meeting is {postponed|cancelled|confirmed}.\n\nKind regards\nReference {n}",
            "Dear {Dr Klein|Ms Novak},\n\nunfortunately the {delivery|repair} is delayed by frost,"
            " and the heating in the {office|workshop} broke down.\n\nKind regards\nReference {n}",
            "Guten Tag {Frau Lenz|Herr Yilmaz},\n\nanbei erhalten Sie den {Vertrag|Auszug|Plan}."
            " Die Besprechung wird {verschoben|abgesagt|bestätigt}.\n\nViele Grüße\nVorgang {n}",
            "Guten Tag {Frau Lenz|Herr Ott},\n\nleider ist die {Lieferung|Wartung} verspätet, die"
            " {Baustelle|Werkstatt} bleibt geschlossen.\n\nViele Grüße\nVorgang {n}",
        ],
    ),
    "french": (
        "catalogue",
        [
            "{Chaise|Table|Lampe|Armoire|Tapis|Miroir} en {chêne|hêtre|métal|rotin}, couleur"
            " {rouge|bleu|vert|blanc|noir}, livraison {gratuite|rapide}, référence A{n}",
        ],
    ),
}
ROWS = 420
SHORT = [
    "über fällig", "Ventile", "Termine im Überblick", "payments", "refunds for customers", "topic",
    "a topic of its own", "Verspätung", "contracts", "Verträge", "des meubles", "lumière douce",
    "resetting", "asking", "une couleur vive", "heating", "Heizungen",
]  # fmt: skip


def embedded(texts: list[str]) -> np.ndarray:
    """Return the vectors of the default model."""
    model = MiniLmModel("local/all-minilm-l6-v2")
    try:
        vectors, _ = asyncio.run(model.embed(texts, None, True))
    finally:
        model.close()
    return np.array([np.frombuffer(vector, "<f4") for vector in vectors])


def filled(template: str, number: int, source: random.Random) -> str:
    return re.sub(
        r"\{(.*?)\}",
        lambda found: str(number) if found[1] == "n" else source.choice(found[1].split("|")),
        template,
    )


def words_of(text: str) -> set[str]:
    return set(re.findall(r"[\w-]*\w", text.lower()))


def tied_words(words: list[set[str]]) -> tuple[Counter[str], list[str]]:
    """Return how many texts have each word, and the words that 25 to 300 have."""
    df = Counter(word for of_text in words for word in of_text)
    return df, sorted(word for word, n in df.items() if 25 <= n <= 300 and len(word) > 1)


def near_variants(texts: list[str], source: random.Random) -> list[str]:
    """Return texts of a single word each, which is nearly one that many have."""
    _, tied = tied_words([*map(words_of, texts)])
    long = [word for word in tied if len(word) > 4 and word.isalpha()]
    made = []
    for word in source.sample(long, min(25, len(long))):
        place = source.randrange(2, len(word) - 1)
        ways = f"{word}en", f"{word[:place]} {word[place:]}", word[:-2], f"{word}haus", f"pre{word}"
        made.append(source.choice(ways))
    return made


@pytest.mark.parametrize("has_variants", [False, True], ids=["plain", "near variants"])
@pytest.mark.parametrize("language", TEMPLATES)
def test_the_first_row_has_the_words(db: Database, language: str, has_variants: bool) -> None:
    name, templates = TEMPLATES[language]
    source = random.Random(name)
    texts = [filled(templates[n % len(templates)], n, source) for n in range(ROWS)] + SHORT
    texts += near_variants(texts, source) if has_variants else []
    words = [*map(words_of, texts)]
    df, tied = tied_words(words)
    others = sorted(word for word, n in df.items() if n >= 5 and len(word) > 1)
    asked = source.sample(tied, min(SINGLE, len(tied)))
    while len(asked) < SINGLE + PAIRS:
        pair = source.choice(tied), source.choice(others)
        if pair[0] != pair[1]:
            asked.append(" ".join(pair))
    vectors = embedded([*texts, *asked])
    add_library(db, texts, vectors)

    def first(function: str, query: str, vector: np.ndarray) -> set[str]:
        row = db.rows(
            f"SELECT source_key::int FROM {function}(%s, 1, options => %s"
            + (", query_embedding => %s)" if function == "hybrid_search" else ")"),
            query,
            '{"fuzzy": "off"}',
            *([vector_literal(vector.tolist())] if function == "hybrid_search" else []),
        )
        return words[row[0][0]] & set(query.split()) if row else set()

    lost, of_all = [], 0
    for query, vector in zip(asked, vectors[len(texts) :], strict=True):
        by_words = first("lexical_search", query, vector)
        if by_words:  # stop words are no words
            of_all += 1
            if len(first("hybrid_search", query, vector)) < len(by_words):
                lost.append(query)
    assert of_all >= 40
    assert len(lost) <= (1 - LEAST) * of_all, lost


def add_library(db: Database, texts: list[str], vectors: np.ndarray) -> None:
    """Store texts, whose keys are their places, with their vectors."""
    db.rows("SELECT create_embedding_space('own', 'local/all-minilm-l6-v2', 384, probe => false)")
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [(str(n), "", text) for n, text in enumerate(texts)])
    rows = db.rows(
        "SELECT h.chunk_id, d.source_key::int FROM chunks AS h JOIN documents AS d"
        " USING (document_id) WHERE h.chunk_id IN"
        " (SELECT chunk_id FROM pgblend._next_embeddings('own', 10000))"
    )
    stage(db, [(chunk, vectors[key].tolist()) for chunk, key in rows])
    db.rows("SELECT pgblend._store_embeddings('own')")
