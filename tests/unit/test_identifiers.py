import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.lexical.forms import identifiers
from pgblend.plpy.lexical.spellings import other_spellings, rare_spellings, spelt_anew
from pgblend.plpy.lexical.words import index_parts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ERR-1042", ["err-1042"]),
        ("(see ERR-1042).", ["err-1042"]),
        ("`foo.bar_baz()`", ["foo.bar_baz"]),
        ("run() it", ["run"]),
        ("/etc/fstab, /etc/hosts.", ["/etc/fstab", "/etc/hosts"]),
        ("v1.2.3 and 1.2.3", ["1.2.3", "v1.2.3"]),
        ("snake_case CamelCase getUserById", ["camelcase", "getuserbyid", "snake_case"]),
        ("__init__ std::string", ["__init__", "std::string"]),
        ("C++, C# and F#.", ["c#", "c++", "f#"]),
        (r"C:\temp\new", [r"c:\temp\new"]),
        ("docs/guide/install src/main.py", ["docs/guide/install", "src/main.py"]),
        ("os.path, me@example.com", ["me@example.com", "os.path"]),
        ("call(some_name, other)", ["some_name"]),
        ("ÄRGER_Größe", ["ärger_grösse"]),
        ("AT&T, Q&A. C & A, ?a&b=1 x=1&y=2 R&&D &amp", ["at&t", "q&a"]),
        ("it 🚀🚀 👩\u200d💻 👍🏽 🇫🇷🇩🇪 ❤\ufe0f © ─", ["❤", "🇩🇪", "🇫🇷", "👍", "👩", "💻", "🚀"]),
        ("使用foo_bar函数", ["foo_bar"]),
        ("2021-11-03", ["2021-11-03"]),
        (
            "well-known and/or 3.14 12:30 1990-1995 e.g. i.e. U.S. don't 50% utf8 NASA mRNA iPhone",
            [],
        ),
        ("--verbose -- ... / // \\ _ = <> (-x, --rm=1 a--b -1", ["--rm", "--verbose", "-1", "-x"]),
        ("x" * 50 + "_" + "y" * 50, []),  # longer than any name
        ("", []),
    ],
)
def test_identifiers(text: str, expected: list[str]) -> None:
    assert identifiers(text, False) == expected


def test_parts() -> None:
    assert identifiers("foo.bar_baz() in a/b/settings.py", True) == [
        "a/b/settings.py",
        "bar_baz",
        "foo.bar_baz",
        "settings.py",
    ]
    assert identifiers("C++17", True) == ["c++", "c++17"]


@given(st.text(), st.booleans())
def test_any_text(text: str, with_parts: bool) -> None:
    found = identifiers(text, with_parts)
    assert found == sorted(set(found))
    assert all(name and not any(map(str.isspace, name)) for name in found)
    assert set(identifiers(text, False)) <= set(identifiers(text, True))


@given(
    st.sampled_from(["err-1042", "foo.bar_baz", "/etc/fstab", "v1.2.3", "c++"]), st.text("ab .,")
)
def test_found_in_any_sentence(name: str, around: str) -> None:
    assert name in identifiers(f"{around} ({name}), {around}", True)


@pytest.mark.parametrize(
    "text", ["-" * 10**6, "a-" * 10**6, "a." * 10**6, "_ " * 10**6, "(" * 10**6, "a&" * 10**6]
)
def test_linear(text: str) -> None:
    start = time.process_time()
    identifiers(text, True)
    assert time.process_time() - start < 5


def test_index_parts_are_what_the_parser_gets() -> None:
    assert index_parts("A/b <c>", "", "see ERR-1042, it's x.y_z\\", 4) == [
        "A b  c ",
        "",
        "see ERR 1042, it's x y_z ",
        "see ",
        "",
        "'=err-1042':1C '=x.y_z':1C '=y_z':1C",
    ]
    assert index_parts("", "C:\\tmp\\a_b", "", 0)[-1] == "'=a_b':1C '=c:\\\\tmp\\\\a_b':1C"
    assert index_parts("", "", "東京都", 0)[2] != "東京都"


@pytest.mark.parametrize(
    ("text", "spelt"),
    [
        ("H.264 video", ["H264 video"]),
        ("the h264 codec", ["the h 264 codec"]),
        ("R2-D2", ["R2D2"]),
        ("r2d2", ["r 2d2", "r2 d2", "r2d 2"]),
        ("ISO 9001", ["I.S.O. 9001", "ISO9001"]),
        ("ipv6 ipv64", ["ip v6 ipv64", "ipv 6 ipv64", "ipv6 ip v64", "ipv6 ipv 64"]),
        ("the UK", ["the U.K."]),
        ("U.K. law", ["UK. law"]),
        ("a Ph.D", ["a PhD"]),
        ("IP v6", ["I.P. v6", "IP v 6", "ipv6"]),
        ("Wi-Fi 6", ["wifi6"]),
        ("node.js", ["nodejs"]),
        ("COVID\u201119", ["COVID19"]),
        ("v2.10 3.14 2019-2020 1,250 --force-with-lease C++17 0x1f@b2 plain non-linear U.S.", []),
        ("5d41402abc4b2a76b9719d91 a1b2c3d4e5", []),
        ("東京2020", []),
        ("", []),
    ],
)
def test_spelt_anew(text: str, spelt: list[str]) -> None:
    assert sorted(spelt_anew(text)) == spelt


def test_identifiers_of_joined_names() -> None:
    found = {other for name, other in other_spellings("Is UTF8 read?") if name == "UTF8"}
    assert found == {"=utf-8", "=utf.8", "=utf_8", "UTF 8"}
    assert other_spellings("PhD") == [("PhD", "=ph.d")]
    assert ("vuejs", "=vue.js") in rare_spellings("vuejs", ["vuej"])
    assert ("wifi6", "wi fi 6") in rare_spellings("wifi6", ["wifi6"])
