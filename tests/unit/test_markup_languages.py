"""LaTeX, AsciiDoc and Org: the text with its headings; macros and marks are no words."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from pgblend.cli.documents.dates import own_date
from pgblend.cli.documents.document import Document
from pgblend.cli.documents.light_markup import parse_asciidoc, parse_org, parse_rst
from pgblend.cli.documents.parse_latex import parse_bibtex, parse_latex

_LATEX = r"""\documentclass[a4paper]{article}
\usepackage{graphicx} % silentword
\title{On \emph{Tides}}
\author{Ann B\"erg}
\begin{document}
\maketitle
\hypertarget{silentword}{%
\section{Neap tides}\label{sec:silentword}}
The \textbf{ebb} is 50\% lower~\cite{silentword}; see it. % silentword
Caf\'e, Stra\ss{}e, na\"{\i}ve --- ``quoted''.
\subsection*{Angles}
Where $\alpha = \frac{a}{b}$ and \silentword{kept words}.
\begin{itemize}
  \item first
\end{itemize}
\begin{tabular}{l|r}
Rope & Load \\ \hline
\end{tabular}
\begin{verbatim}
raw \command % here
\end{verbatim}
\includegraphics[width=3cm]{silentword.png} \href{http://silentword.example}{The link}
\end{document}
silentword
"""
_ASCIIDOC = """= Moorings: a Guide
Ann Berg <ann@x.example>
v1.0, 2026-05-04
:toc: left
:product: Harbour

Preamble of {product}.
// silentword
== Ropes [[silentword]]

.Loads of ropes
[cols="1,1",silentword]
|===
|Rope |Load
|hemp |12
|===

NOTE: Mind *the* _boom_ and un**believ**able `code`.

[source,silentword]
----
keep *this* // yes
----

* item https://x.example/silentword[the site]
** deeper <<silentword,see ropes>>

image::silentword.png[Map of Senja,200]
include::other.adoc[]
////
silentword
////
Old Style
---------
Text footnote:[A note.] here.
"""
_ORG = """#+TITLE: Anchors
#+AUTHOR: Ann
#+FILETAGS: :iron:sea:
#+OPTIONS: silentword:nil

* TODO [#A] Flukes bite :silentword:
:PROPERTIES:
:ID: silentword
:END:
The *heavy* /iron/ =code_x= a_b [[file:silentword.org][the shaft]].
# silentword
** Shank
| Part | kg |
|------+----|
| ring | 4  |
#+BEGIN_SRC silentword
x = *y*
#+END_SRC
Text[fn:1].
"""


@pytest.mark.parametrize(
    ("parse", "source", "title", "metadata", "headings", "said"),
    [
        (
            parse_latex,
            _LATEX,
            "On Tides",
            {"author": "Ann B\xebrg"},
            ["Neap tides", "Angles"],
            [
                "The ebb is 50% lower",
                "Caf\xe9, Stra\xdfe, na\xefve \u2014 \u201cquoted\u201d.",
                "(a)/(b)$ and kept words.".replace("$", ""),
                "- first",
                "Rope  |  Load",
                "raw \\command % here",
                "The link",
            ],
        ),
        (
            parse_asciidoc,
            _ASCIIDOC,
            "Moorings: a Guide",
            {"author": "Ann Berg <ann@x.example>", "revision": "v1.0, 2026-05-04"},
            ["Moorings: a Guide", "Ropes", "Old Style"],
            [
                "Preamble of Harbour.",
                "Loads of ropes",
                "hemp  | 12",
                "NOTE: Mind the boom and unbelievable code.",
                "keep *this* // yes",
                "- item the site",
                "  - deeper see ropes",
                "Map of Senja",
                "Text  (A note.) here.",
            ],
        ),
        (
            parse_org,
            _ORG,
            "Anchors",
            {"author": "Ann", "tags": ["iron", "sea"]},
            ["Flukes bite", "Shank"],
            ["The heavy iron code_x a_b the shaft.", "ring | 4", "x = *y*", "Text[1]."],
        ),
    ],
    ids=["latex", "asciidoc", "org"],
)
def test_text_and_headings_are_read_and_marks_are_no_words(
    parse, source, title, metadata, headings, said
):
    document = parse(source.encode())
    assert document.title == title
    assert document.metadata | metadata == document.metadata
    assert [heading.text for heading in document.headings] == headings
    for heading in document.headings:
        assert document.text[heading.offset :].startswith(heading.text)
        line = document.text.count("\n", 0, heading.offset)
        assert heading.text.split()[0] in source.split("\n")[line]
    assert [words for words in said if words not in document.text] == []
    assert "silentword" not in document.text


def test_a_file_that_is_included_is_named():
    (left_out,) = parse_asciidoc(_ASCIIDOC.encode()).left_out
    assert (left_out.part, left_out.reason) == ("other.adoc", "it is a file of its own")


@pytest.mark.parametrize(
    ("parse", "source", "names"),
    [
        (
            parse_latex,
            "A \\input{parts/a} b \\include{c}. % \\input{no}\n\\import{d/}{e} \\subfile{f}",
            ["parts/a", "c", "d/e", "f"],
        ),
        (
            parse_latex,
            "\\addbibresource{a.bib}\\begin{document}A\\bibliography{b,c}\\end{document}",
            ["a.bib", "b", "c"],
        ),
        (
            parse_org,
            'A\n#+INCLUDE: "a b.org" :lines "5-"\n#+include: c.org\n',
            ["a b.org", "c.org"],
        ),
        (parse_rst, "A\n\n.. include:: a.rst\n\n.. literalinclude:: b.py\n", ["a.rst", "b.py"]),
        (parse_rst, "A\n\n.. csv-table:: B\n   :file: b.csv\n\n:file:`no`\n", ["b.csv"]),
    ],
)
def test_files_that_a_text_takes_in_are_named(parse, source, names):
    document = parse(source.encode())
    assert [each.part for each in document.left_out] == names
    assert not any(name in document.text for name in names if parse is not parse_rst)


def test_restructuredtext_has_headings():
    source = "=====\nTides\n=====\n\nA\n\nNeap\n----\n\nB\n\nHigh\n~~~~\n\nEbb\n---\n\n--\nno\n"
    headings = parse_rst(source.encode()).headings
    assert [(each.text, each.level) for each in headings] == [
        *(("Tides", 1), ("Neap", 2), ("High", 3), ("Ebb", 2)),
    ]
    assert all(source[each.offset :].startswith(each.text) for each in headings)


@pytest.mark.parametrize(
    ("parse", "source"),
    [
        (parse_rst, "Title\n=====\n\n:author: Ann\n:date: 2026-01-31\n\nText\n"),
        (parse_asciidoc, "= Title\nAnn <a@x.org>\nv1.0, 2026-01-31: draft\n\nText\n"),
        (parse_asciidoc, "= Title\n:revdate: 2026-01-31\n\nText\n"),
        (parse_org, "#+TITLE: Title\n#+DATE: <2026-01-31 Sat>\n\nText\n"),
    ],
)
def test_a_text_tells_its_date(parse: Callable[[bytes], Document], source: str) -> None:
    assert own_date(parse(source.encode())) == datetime(2026, 1, 31, tzinfo=UTC)


def test_fields_further_down_are_text() -> None:
    document = parse_rst(b"Title\n=====\n\nText\n\n:date: 2026-01-31\n")
    assert own_date(document) is None
    assert document.metadata == {}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"\newcommand{\sys}{Millstone}\newcommand{\of}[2]{#1 of #2}\sys{} and \of{mill}{Ulm}.",
         "Millstone and mill of Ulm."),
        (r"\newcommand{\at}[2][noon]{#2 at #1}\at{x} \at[one]{y}", "x at noon y at one"),
        (r"\def\a#1{b #1}\a{c} \newcommand*\d{\a{e}}\d", "b c b e"),
        (r"\newcommand{\x}{\if@a b\fi}\x{kept}", "kept"),
        (r"Ulm\footnote{Since \emph{1750}.} stands", "Ulm (Since 1750.) stands"),
        (r"\begin{tabular}{@{}l>{\bf}r@{}}a & b\end{tabular}", "a  |  b"),
        (r"\begin{tabularx}{\textwidth}{X p{3cm}}a & b\end{tabularx}", "a  |  b"),
        (r"\item[$\boxtimes$] done", "- \u2612  done"),
        (r"\begin{tikzpicture}[scale=2]\draw (0,0) node[right] {the axis};\end{tikzpicture}",
         "the axis"),
        (r"\begin{theorem}[Thales] x\end{theorem}", "[Thales] x"),
        (r"\begin{figure}[htb]x\end{figure}", "x"),
        (r"\verb|a_b| \setlength{\parskip}{1em}c", "a_b c"),
        (r"\colorbox{blue}{boxed}", "boxed"),
        (r"a \iffalse left out \fi b", "a  b"),
        (r"\SI{5}{\kilo\metre\per\hour} or \qty[mode=text]{3}{kg}", "5 kilometre per hour or 3 kg"),
        (r'Do\-nau\-dampf\/schiff Donau"-dampf a"=b', "Donaudampfschiff Donaudampf a-b"),
        (r"one\newline two\hfill three\hspace{1cm}four\\[2pt]five and\slash or",
         "one two three four five and/or"),
        (r'na\"\i ve Stra\ss e, 20\textdegree C or 20$^\circ$C',
         "na\u00efve Stra\u00dfe, 20\u00b0C or 20\u00b0C"),
        (r"\SIrange{1}{5}{\micro\metre}, \unit[7]{cm}, \si{\volt}",
         "1 \u2013 5 micrometre, 7 cm, volt"),
    ],
)  # fmt: skip
def test_what_is_set_of_a_macro_is_text(source, text):
    assert parse_latex(source.encode()).text.strip() == text


def test_a_frame_s_title_is_a_heading_and_thanks_are_no_author():
    source = r"\author{Ann \and Bo\thanks{A mill}}\begin{frame}{Tides}x\end{frame}"
    document = parse_latex(source.encode())
    assert [heading.text for heading in document.headings] == ["Tides"]
    assert document.metadata["author"] == "Ann; Bo"


def test_roles_of_asciidoc_are_no_words():
    assert parse_asciidoc(b"a [line-through]#gone# [.big]*b*").text == "a gone b"


def test_macros_that_grow_are_written_out_up_to_a_bound() -> None:
    """An argument that is said 150 times, and macros within it, would fill the memory."""
    doubled = (
        r"\newcommand{\a}[1]{" + "#1 " * 150 + "}" + "\n" + r"\a{\a{\a{\a{" + "x" * 999 + "}}}}"
    )
    text = parse_latex(
        f"\\begin{{document}}\nfirst\n{doubled}\nlast\n\\end{{document}}".encode()
    ).text
    assert (text.split()[0], text.split()[-1]) == ("first", "last")
    assert len(text) < 20_000


@pytest.mark.parametrize(
    "source",
    [
        r"\begin{tikzpicture}" * 20_000,
        r"\begin{tikzpicture}" + "node " * 100_000 + r"\end{tikzpicture}",
        r"\item[" * 50_000,
        " " * 300_000,
    ],
)
def test_what_begins_often_and_never_ends_is_read_at_once(source: str) -> None:
    """Each took minutes where every beginning was looked along to the text's end."""
    document = parse_latex(f"first {source}\n\nlast".encode())
    assert document.text.split()[0] == "first"


def test_macros_and_comments_of_org_are_no_words() -> None:
    source = """#+MACRO: version 4.2 of $1
* Start {{{version(Anchor)}}}
It is {{{version(the ship)}}}, {{{unknown}}} of all.
** COMMENT Draft
silent
*** below
silent
** Next
said
* COMMENT
silent
"""
    document = parse_org(source.encode())
    assert [heading.text for heading in document.headings] == ["Start 4.2 of Anchor", "Next"]
    assert "It is 4.2 of the ship,  of all." in document.text
    assert "silent" not in document.text
    assert "said" in document.text


def test_bullets_of_asciidoc_are_as_deep_as_their_marks() -> None:
    assert parse_asciidoc(b"* a\n** b\n*** c\n- d\n").text == "- a\n  - b\n    - c\n- d\n"


@pytest.mark.parametrize("broken", ["note = {see, ", 'note = "see, ', "note = see #"])
def test_an_entry_without_its_end_takes_no_other_in(broken: str) -> None:
    """Else a small file of such entries becomes a huge text, after minutes."""
    entries = "".join(f"@misc{{key{number}, {broken}\n" for number in range(200))
    headings = [one.text for one in parse_bibtex(entries.encode()).headings]
    assert headings == [f"key{number}" for number in range(200)]
    assert len(parse_bibtex(entries.encode()).text) < 2 * len(entries)


def test_entries_of_a_bibliography_stand_under_their_titles() -> None:
    document = parse_bibtex(
        rb"""@string{jos = "Journal of " # {Soils}} @comment{silentword}
@STRING(hull = {Hull Press})
@article{berg2019,
  author = {M{\"u}ller, J{\"o}rg and Garc{\'i}a, Ana}, title = {{Soil} and
    {pH}, \emph{again}}, journal = jos, month = mar # "~4", year = 2019, note = "a {"}quote{"} b",
}
@book(eel, publisher = hull # { Ltd}, pages = {3--9}, url = {http://x.org/~a_b%20})
@misc{cut, title = {Open"""
    )
    assert document.text.split("\n\n") == [
        "Soil and pH, again",
        "article berg2019\nauthor: M\u00fcller, J\u00f6rg and Garc\u00eda, Ana\n"
        'journal: Journal of Soils\nmonth: Mar 4\nyear: 2019\nnote: a "quote" b',
        "eel",
        "book eel\npublisher: Hull Press Ltd\npages: 3\u20139\nurl: http://x.org/~a_b%20",
        "Open",
        "misc cut",
    ]
    assert [one.text for one in document.headings] == ["Soil and pH, again", "eel", "Open"]
