"""What holds for any snippet, whatever the passage and the query."""

# ruff: noqa: RUF001
import re
from html import unescape

from hypothesis import example, given
from hypothesis import strategies as st

from pgblend.plpy.lexical.forms import changes, is_own_form, kinds_of, odd_signs, word_form
from pgblend.plpy.lexical.placed import LookedFor, PlacedPage, placed_form
from pgblend.plpy.lexical.snippets import (
    MOST,
    Sought,
    page_snippets,
    spaced_page,
    spaced_words,
)
from support.fake_database import FakeDatabase

WORDS = (
    "fox",
    "Foxes",
    "red",
    "<b>",
    "&amp;",
    "x.y",
    "a_b",
    '"',
    "東京都",
    "京都",
    "ไทย",
    "é",
    "İz",
    "ΟΔΟΣ",
    "οδός",
    "Ёж",
    "—",
)
BLANKS = (" ", " ", " ", ". ", "\n", "\n\n", "", "。")
ANY = st.characters(exclude_characters="\0", exclude_categories=("Cs",))
TEXTS = st.one_of(
    st.text(ANY, max_size=600),
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(BLANKS)), max_size=150).map(
        lambda pairs: "".join(word + blank for word, blank in pairs)
    ),
)


def database(*, keeps: bool = True) -> FakeDatabase:
    """A server whose only stemmer takes off es."""

    def lexemes(text: str) -> list[str]:
        found = (word.removesuffix("es") for word in spaced_words(text).lower().split())
        return [lexeme for lexeme in found if lexeme]

    return FakeDatabase(
        {
            "AS keeps_all": lambda _: [{"keeps_ascii": keeps, "keeps_all": keeps}],
            "FROM unnest($2)": lambda _, words: [
                {"lexemes": ["\n".join(lexemes(word)) for word in words]}
            ],
            "AS version": lambda _, text: [{"version": "1", "lexemes": lexemes(text)}],
        }
    )


@given(TEXTS, st.one_of(st.none(), TEXTS), st.booleans())
def test_a_part_of_the_passage_with_marks(content: str, query: str | None, keeps: bool) -> None:
    (snippet,) = page_snippets(database(keeps=keeps), [content], [Sought(query)], ["english"])
    tags = re.findall("</?mark>", snippet)
    assert tags == ["<mark>", "</mark>"] * (len(tags) // 2)
    assert "<mark></mark>" not in snippet
    text = unescape_ours(re.sub("</?mark>", "", snippet))
    assert len(text) <= MOST
    assert text in content
    assert bool(text) == bool(content.strip())


def unescape_ours(html: str) -> str:
    """Undo the four entities, and no other that the text itself may have."""
    assert not re.search('[<>"]|&(?!amp;|lt;|gt;|quot;)', html)
    return re.sub("&(amp|lt|gt|quot);", lambda entity: unescape(entity[0]), html)


@given(TEXTS, TEXTS)
def test_beginnings_leave_out_no_match(content: str, query: str) -> None:
    """What a configuration keeps at words' beginnings only saves time."""
    first, other = (
        page_snippets(database(keeps=keeps), [content], [Sought(query)], ["english"])
        for keeps in (True, False)
    )
    assert first == other


@given(TEXTS | st.text("aAbB019 .,'_-", max_size=12), st.sampled_from(["english", "turkish"]))
def test_a_glance_at_a_form_sees_what_changes_it(text: str, config: str) -> None:
    changed = odd_signs(text) or [*changes(text, kinds_of(text), config)]
    assert is_own_form(text, config) == (not changed)


def test_words_outside_the_part_are_not_in_the_snippet() -> None:
    away = "and so on " * 40
    content = f"fox {away}red fox and hen {away}hen"
    (snippet,) = page_snippets(database(), [content], [Sought("red fox hen")], ["english"])
    marks = re.findall("<mark>(.*?)</mark>", snippet)
    assert (marks, snippet.count("fox"), snippet.count("hen")) == (["red", "fox", "hen"], 1, 1)


def test_corrections_are_lexemes() -> None:
    sought = [Sought("agreid", ("agre",))]
    assert page_snippets(database(), ["we agreed"], sought, ["english"]) == ["we agreed"]
    assert page_snippets(database(), ["it agrees"], sought, ["english"]) == [
        "it <mark>agrees</mark>"
    ]
    assert page_snippets(database(), ["we agre"], sought, ["english"]) == ["we <mark>agre</mark>"]


def test_turkish_capitals() -> None:
    """Where the server is Turkish, I is the capital of the i without a dot."""

    def lexemes(text: str) -> list[str]:
        return text.replace("I", "ı").replace("İ", "i").lower().split()

    db = FakeDatabase(
        {
            "AS keeps_all": lambda _: [{"keeps_ascii": True, "keeps_all": True}],
            "FROM unnest($2)": lambda _, words: [
                {"lexemes": ["\n".join(lexemes(w)) for w in words]}
            ],
            "AS version": lambda _, text: [{"version": "1", "lexemes": lexemes(text)}],
        }
    )
    content = "ISPARTA, Isparta, ısparta; İSPARTA, isparta; KIL kil"
    without, with_dot, hair = (
        page_snippets(db, [content], [Sought(query)], ["turkish"])[0]
        for query in ("Isparta", "isparta", "kıl")
    )
    marks = re.findall("<mark>(.*?)</mark>", without)
    assert marks == ["ISPARTA", "Isparta", "ısparta"]
    assert re.findall("<mark>(.*?)</mark>", with_dot) == ["İSPARTA", "isparta"]
    assert re.findall("<mark>(.*?)</mark>", hair) == ["KIL"]


def test_a_configuration_that_is_gone() -> None:
    """A passage that is not there, or whose configuration was dropped, is found all the same."""
    gone = database(keeps=False)
    gone.answers |= {"FROM unnest($2)": lambda *_: [], "AS version": lambda *_: []}
    sought = [Sought('"red fox" cat', ("fox",))]
    assert page_snippets(gone, ["a red fox"], sought, ["gone"]) == ["a red fox"]
    assert page_snippets(gone, [""], sought, [""]) == [""]


PIECES = (
    *WORDS,
    "parseHTML",
    "10GB",
    "10",
    "½",
    "GB",
    "250",
    "1,250",
    "1\u00a0250",
    "v2.10",
    "python3.12",
    "ΟΔΟΣ",
    "Istanbul",
    "a¨",
    "\u0301",
    "node.js",
    "e\u0301t",
    "ﬁx",
    "x\u200by",
    "\u1112\u1161",
    "\x1b[1mred",
)


@given(
    texts=st.lists(
        st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map(" ".join), max_size=6
    ),
    config=st.sampled_from(("english", "german", "turkish", "polish")),
)
def test_the_form_of_a_page_is_that_of_its_text(texts: list[str], config: str) -> None:
    text = "\n".join(texts)
    page, form = PlacedPage(text, config), placed_form(text, config)
    assert page.text == form.text == word_form(text, config)
    whole = {(form.begins[at], form.ends[end - 1]) for at, end, _ in hits_in(page)}
    assert {(begin, end) for begin, end, _ in page.in_page(hits_in(page))} == whole


NUMBERS = {"10": "10", "10gb": "10", "250": "250", "1250": "1250", "3.12": "12", "2.10": "10"}
"""Words, and the most of their digits that stand side by side."""


def hits_in(page: PlacedPage) -> list[tuple[int, int, int]]:
    """Take each word of a form for a hit."""
    return [(*word.span(), 0) for word in re.finditer(r"\S+", page.text)]


def test_one_composed_letter_leaves_the_marks_of_others_where_they_are() -> None:
    page = PlacedPage("e\u0301t ไทยนี้", "simple")
    at = page.text.index("ี")
    assert page.in_page([(at, at + 1, 0)]) == [(8, 9, 0)]


@given(
    texts=st.lists(
        st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map(" ".join), max_size=6
    ),
    beginning=st.sampled_from(("htm", "par", "gb", "jso", "node", "red", "x", *NUMBERS)),
)
@example(["a parseHTML"], "par")
@example(["a parseHTML"], "htm")
@example(["a 10GB"], "gb")
@example(["a 10 GB"], "10gb")
@example(["a 10GB"], "10")
@example(["a 1,250 GB"], "1250")
@example(["a python3.12"], "3.12")
def test_parts_that_are_looked_for_are_found_in_pages_left_as_they_are(
    texts: list[str], beginning: str
) -> None:
    def places(page: PlacedPage) -> set[tuple[int, int]]:
        spaced = spaced_page(page.text)[1:-1]
        words = [(*word.span(), 0) for word in re.finditer(rf"\b{beginning}\w*", spaced, re.I)]
        return {(start, end) for start, end, _ in page.in_page(words)}

    text = "\n".join(texts)
    wanted = LookedFor(set(), {NUMBERS[beginning]}) if beginning in NUMBERS else None
    few = PlacedPage(text, "english", wanted or LookedFor({beginning}, set()))
    assert places(few) == places(PlacedPage(text, "english"))
