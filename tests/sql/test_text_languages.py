"""Scripts without word spaces, accents, and queries over several languages."""

# ruff: noqa: RUF001
import pytest

from support.database import Database

TEXTS = {
    "zh": "北京大学是中国的一所著名大学，位于北京。使用PostgreSQL数据库。",
    "ja": "東京都は大きい都市です。京都も古い都市。",
    "th": "ทีมรับของแพนเธอร์สถอดใจที่คะแนน 308",
    "lo": "ປະເທດລາວມີນະຄອນຫຼວງວຽງຈັນ",
    "km": "ភាសាខ្មែរជាភាសាផ្លូវការ",
    "my": "မြန်မာနိုင်ငံသည် အရှေ့တောင်အာရှ",
}

STRICTLY = "SELECT source_key FROM lexical_search(%s, options => '{\"strict\": true}')"
KOREAN = "서울은 대한민국의 수도이다. PostgreSQL은 강력한 데이터베이스이다."


def snippet_of(db: Database, content: str, query: str) -> str:
    """The snippet of one passage."""
    call = "SELECT pgblend._snippets(ARRAY[%s], ARRAY[%s], '{simple}')"
    return str(db.value(call, content, query)[0])


@pytest.fixture
def texts(db: Database) -> Database:
    db.rows("SELECT add_collection('c', 'simple')")
    for key, text in TEXTS.items():
        db.rows("SELECT ingest_document('c', %s, %s)", key, text)
    return db


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("大学", ["zh"]),
        ("数据库", ["zh"]),
        ('"北京大学"', ["zh"]),
        ('"大学北京"', []),
        ('"使用PostgreSQL数据库"', ["zh"]),
        ("都市", ["ja"]),
        ('"大きい都市"', ["ja"]),
        ('"大きい京都"', []),
        ("都市 -古い", []),
        ("都市 -北京", ["ja"]),
        ("คะแนน", ["th"]),
        ('"คะแนน 308"', ["th"]),
        ("ນະຄອນ", ["lo"]),
        ("ភាសា", ["km"]),
        ("နိုင်ငံ", ["my"]),
    ],
)
def test_found_without_word_spaces(texts: Database, query: str, expected: list[str]) -> None:
    assert texts.column(STRICTLY, query) == expected


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("서울", True),  # in 서울은: particles are written onto words
        ("서울은", True),
        ("수도가", True),
        ("대한민국", True),
        ("postgresql", True),
        ("데이터베이스", True),
        ('"강력한 데이터베이스"', True),
        ('"데이터베이스 강력한"', False),
        ("부산", False),
    ],
)
def test_korean_words_with_particles(db: Database, query: str, found: bool) -> None:
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT ingest_document('c', 'k', %s)", KOREAN)
    expected = ["k"] if found else []
    assert db.column(STRICTLY, query) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        *((text, code) for code, text in TEXTS.items()),
        (KOREAN, "ko"),
        ("東京", "zh"),
        ("ひらがな", "ja"),
        ("使用 PostgreSQL 数据库进行全文检索", "zh"),
        ("The word 東京 means eastern capital.", "german"),
        ("Ein Satz.", "german"),
        ("Привет, мир", "german"),
        ("12 + 30", "german"),
        ("", "german"),
    ],
)
def test_a_script_tells_the_language(db: Database, content: str, expected: str) -> None:
    """Without a language, a document has that of its script, else the collection's."""
    db.rows("SELECT add_collection('c', 'german')")
    db.rows("SELECT ingest_document('c', 'k', %s)", content)
    assert db.column("SELECT language FROM documents") == [expected]


def test_a_script_tells_the_language_of_titles_and_given_chunks(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    chunks = '[{"content": "東京都は大きい"}]'
    db.rows("SELECT ingest_document('c', 'a', NULL, chunks => %s, content_hash => 'a')", chunks)
    db.rows("SELECT ingest_document('c', 'b', '1234', title => 'ภาษาไทย')")
    assert db.column("SELECT language FROM documents ORDER BY source_key") == ["ja", "th"]


def test_a_language_that_is_given_and_a_configuration_of_one_s_own_are_kept(db: Database) -> None:
    db.rows("CREATE TEXT SEARCH CONFIGURATION public.mine (COPY = simple)")
    db.rows("SELECT add_collection('c', 'mine')")
    db.rows("SELECT ingest_document('c', 'a', %s)", TEXTS["ja"])
    db.rows("SELECT ingest_document('c', 'b', %s, language => 'simple')", TEXTS["ja"])
    assert db.column("SELECT language FROM documents ORDER BY source_key") == ["mine", "simple"]


def test_attached_rows_have_the_language_of_their_script(db: Database) -> None:
    db.rows("CREATE TABLE public.article (id integer PRIMARY KEY, body text)")
    db.rows("INSERT INTO article VALUES (1, %s), (2, 'some words')", TEXTS["zh"])
    db.rows("SELECT attach_table('public.article', '{body}')")
    db.rows("INSERT INTO article VALUES (3, %s)", TEXTS["th"])
    languages = "SELECT language FROM documents ORDER BY source_key"
    assert db.column(languages) == ["zh", "english", "th"]


def test_a_language_is_an_option_a_filter_and_a_facet(texts: Database) -> None:
    query = "北京 京都 คะแนน"
    both = "SELECT source_key FROM lexical_search(%s, options => %s, filter => %s)"
    assert texts.column(both, query, '{"language": "ja"}', "{}") == ["ja"]
    assert texts.column(both, query, "{}", '{"$language": {"in": ["th", "zh"]}}') in (
        ["th", "zh"],
        ["zh", "th"],
    )
    facets = "SELECT value #>> '{}' FROM search_facets(%s, '{$language}') ORDER BY 1"
    assert texts.column(facets, query) == ["ja", "th", "zh"]


def test_length_counts_what_is_indexed(db: Database) -> None:
    db.rows("SELECT add_collection('c', 'simple')")
    db.rows("SELECT ingest_document('c', 'k', '東京都 SQL', title => '京都')")
    assert db.value("SELECT length FROM pgblend_data.pending") == 2 + 1 + 1


def test_titles_and_headings_too(db: Database) -> None:
    db.rows("SELECT add_collection('c', 'simple')")
    chunks = '[{"content": "x", "heading": "古い都市"}]'
    db.rows("SELECT ingest_document('c', 'k', '', title => '東京', chunks => %s)", chunks)
    for query in ("東京", "古い都市"):
        assert db.column("SELECT source_key FROM lexical_search(%s)", query) == ["k"]


@pytest.mark.parametrize(
    ("content", "query", "expected"),
    [
        (TEXTS["ja"], "京都", "東<mark>京都</mark>は大きい都市です。<mark>京都</mark>も古い都市。"),
        (
            TEXTS["ja"],
            '"大きい都市"',
            "東京都は<mark>大きい都市</mark>です。京都も古<mark>い都市</mark>。",
        ),
        (TEXTS["ja"], "猫", TEXTS["ja"]),
        (TEXTS["th"], "คะแนน 308", "ทีมรับของแพนเธอร์สถอดใจที่<mark>คะแนน</mark> <mark>308</mark>"),
        ("<b>東京</b> & 京都", "東京", "&lt;b&gt;<mark>東京</mark>&lt;/b&gt; &amp; 京都"),
        ("<b>make deploy</b>", "deploy", "&lt;b&gt;make <mark>deploy</mark>&lt;/b&gt;"),
        (r"in C:\temp/new", "new", r"in C:\temp/<mark>new</mark>"),
        ("ERR-1042 well-known", "ERR-1042", "<mark>ERR</mark>-<mark>1042</mark> well-known"),
    ],
)
def test_snippets_mark_the_original(db: Database, content: str, query: str, expected: str) -> None:
    assert snippet_of(db, content, query) == expected


def test_a_long_text_without_spaces_is_cut(db: Database) -> None:
    content = "前" * 2000 + "東京" + "後" * 2000
    snippet = snippet_of(db, content, "東京")
    assert "<mark>東京</mark>" in snippet
    assert len(snippet) == 250 + len("<mark></mark>")
    assert snippet_of(db, content, "猫") == "前" * 250


def test_words_in_angle_brackets_are_words(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT ingest_document('c', 'k', 'a List<String> and <title> tag')")
    for query in ("string", "title"):
        assert db.column("SELECT source_key FROM lexical_search(%s)", query) == ["k"]


def test_stop_words_of_the_query_s_language(db: Database) -> None:
    configs = ["english", "german", "simple"]
    found = db.value("SELECT pgblend._query_stop_words(%s, %s)", "what is the Schloss", configs)
    assert set(found) == {"what", "is", "the"}
    for query in ("the who", "Schloss", ""):
        stop_words = db.value("SELECT pgblend._query_stop_words(%s, %s)", query, configs)
        assert "who" not in stop_words or "the" not in stop_words
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT ingest_document('c', 'en', 'A castle on a hill', language => 'english')")
    db.rows("SELECT ingest_document('c', 'de', 'The Guardian', language => 'german')")
    assert db.column("SELECT source_key FROM lexical_search('the castle of')") == ["en"]


@pytest.mark.parametrize("query", ["I'm here", "you'll go", "don't"])
def test_contractions_leave_no_letters(db: Database, query: str) -> None:
    lexemes = db.value("SELECT lexemes FROM pgblend._parse_query(%s, 'simple')", query)
    assert not {"m", "ll", "t"} & set(lexemes)


def test_a_repeated_word_weighs_more(db: Database) -> None:
    row = db.row("SELECT lexemes, boosts FROM pgblend._parse_query('fox dog fox', 'english')")
    assert row == (["dog", "fox"], [1, pytest.approx(2 * 11 / 12)])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain words\tand\r\nlines, PhD and URLs",
        "<b>a/b\\c-d</b>",
        "naïve “quotes” – ERR-1042",
        "東京都 und ไทย/ok",
        "node.js, end.Next, 3.14, e.g. U.S.A. and a.out",
        "parseHTMLResponse, utf8Decode, HTTPServer, IT and ISIN",
        "\x1b[31mred\x1b[0m ﬁne e\u0301 so\u00adft",
    ],
)
@pytest.mark.parametrize("config", ["english", "turkish"])
def test_chunks_and_queries_reach_the_parser_alike(db: Database, text: str, config: str) -> None:
    query = (
        "SELECT (pgblend._index_parts(%s, '', '', 0, %s, ''))[1] = pgblend._indexable_text(%s, %s)"
    )
    assert db.value(query, text, config, text, config)
