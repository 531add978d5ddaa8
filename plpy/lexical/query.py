"""A search query parsed into words, phrases and exclusions."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from pgblend.plpy.base.session import Database, Row, Rows
from pgblend.plpy.base.settings import check_size
from pgblend.plpy.lexical.forms import PICTURE, identifiers, pictures, small, whole_name
from pgblend.plpy.lexical.spellings import dotted_names, spelt_anew
from pgblend.plpy.lexical.words import RUN, SYLLABLE, indexable_text

# ruff: noqa: RUF001 - signs that look like others are what this is about


PROSE_WORDS = 10
# As languages and word processors write them; an apostrophe is none.
QUOTES = "“”„‟«»‹›「」『』〝〞〟＂"
_AS_QUOTES = dict.fromkeys(map(ord, QUOTES), '"')
# Single ones are quotes where several words stand between them: one may be an apostrophe.
_SINGLE = r"(?<!\w)[‘‚‛]\s?((?:[^\s‘’‚‛]|’(?=\w))+(?:\s(?:[^\s‘’‚‛]|’(?=\w))+)+)\s?[’‘](?!\w)"
# A quote within a word (5" pipes) is none; after a sign, as a bracket, it is.
# What follows a closing quote with a dash is a word ("Divestment"-Bewegung).
_TOKEN = r'(?:(?<=")-|(-?))"([^"]*)(?:"|$)|(?:(?<=")[-–—]+(?=\w))?((?:[^\s"]|(?<=\w)")+)'
# As word processors write the two dashes of an option, and as typed.
TYPED_DASHES = r"(?<!\S)[–—](?=[A-Za-z])"
_OPTION = rf"--+(?=\w).*|{TYPED_DASHES}.*"
# A number but no date, a letter, or one with a value (-Dname=1): no dash excludes these words.
_NO_EXCLUSION = r"-+(?:(?!\d{4}-\d\d-\d\d)[\d.,].*|[A-Za-z]|[^=]*=.*)"
_OPERATORS = r'(?i)"|(?<!\S)[-–—]|\bor\b'


class Token(NamedTuple):
    """A part of a query: a word, a phrase, or "or"; `excluded` are words and phrases."""

    kind: str
    text: str
    excluded: bool = False


@lru_cache(maxsize=10)
def has_operators(query: str) -> bool:
    """Tell whether a query may have phrases, exclusions or alternatives."""
    return bool(re.search(_OPERATORS, plain_quotes(query)))


def plain_quotes(query: str) -> str:
    """Return a query with all quotes as typewriters have them; without one that has no other.

    A typewriter's own stays: it reaches to the end.
    """
    if query.isascii():
        return query
    plain = re.sub(_SINGLE, r'"\1"', query.translate(_AS_QUOTES))
    if plain.count('"') == 1 and '"' not in query:
        return plain.replace('"', " ")
    return plain


def tokens(query: str) -> Iterator[Token]:
    """Give the parts of a query that is no prose, in order.

    A word with a dash before it is excluded, but for options of commands (--force, -x, -Dname=1),
    numbers and dashes alone.
    """
    for minus, phrase, word in re.findall(_TOKEN, plain_quotes(query)):
        if not word:
            yield Token("phrase", phrase, bool(minus))
        elif word.lower() == "or":
            yield Token("or", word)
        elif re.fullmatch(_OPTION, word):
            yield Token("word", word if word[0] == "-" else f"--{word[1:]}")
        elif word[0] == "-" and word.strip("-") and not re.fullmatch(_NO_EXCLUSION, word):
            yield Token("word", word.lstrip("-"), True)
        else:
            yield Token("word", word)


def query_groups(query: str) -> dict[str, Any]:
    """Parse `query` with the operators of websearch_to_tsquery: "phrase", or, -exclusion.

    Returns a dict: `words` is the text whose lexemes rank, plain words and the words of phrases.
    `groups` are the alternatives between `or`, each a dict of `words` (any may occur), `phrases`
    (must occur) and `excluded` (must not). An `or` with nothing before or after it is left out. A
    quote that is never closed reaches to the end. Prose has no operators: it is all words.
    """
    if is_prose(query):
        words = re.sub(r'"|(?<!\S)-+(?=\s|$)|(?<!\S)-(?=[^\s-])', " ", plain_quotes(query)).split()
        return {
            "words": " ".join(words),
            "groups": [{"words": words, "phrases": [], "excluded": []}],
        }
    ranking: list[str] = []
    groups: list[dict[str, list[str]]] = []
    alternative = True
    for kind, text, excluded in tokens(query):
        if kind == "or":
            alternative = True
            continue
        if alternative:
            groups.append({"words": [], "phrases": [], "excluded": []})
            alternative = False
        place = "excluded" if excluded else "phrases" if kind == "phrase" else "words"
        groups[-1][place].append(text)
        ranking += [] if excluded else [text]
    return {"words": " ".join(ranking), "groups": groups}


def excluded_texts(query: str) -> list[str]:
    """Return the words and phrases that a query excludes, each once."""
    if not has_operators(query):
        return []
    groups = query_groups(query)["groups"]
    return list(dict.fromkeys(text for group in groups for text in group["excluded"]))


def without_phrases(query: str) -> str | None:
    """Return a query with the words of its phrases in their place; None where it has none."""
    if is_prose(query):
        return None
    parts, has_phrases = [], False
    for kind, text, excluded in tokens(query):
        if excluded:
            parts.append(f'-"{text}"' if kind == "phrase" else f"-{text}")
        elif kind == "phrase":
            has_phrases = True
            parts += [_plain_word(word) for word in text.split() if word.lower() != "or"]
        else:
            parts.append(text)
    return " ".join(parts) if has_phrases else None


def _plain_word(word: str) -> str:
    """Return a word of a phrase, which excludes nothing there."""
    is_kept = re.fullmatch(_OPTION, word) or re.fullmatch(_NO_EXCLUSION, word)
    return word if is_kept else word.lstrip("-–—")


def is_prose(query: str) -> bool:
    """Tell whether a query was written as sentences, in which quotes and dashes are punctuation.

    It has more than ten words outside quotes, and a sentence ends in it.
    """
    outside = re.sub(r'"[^"]*(?:"|$)', " ", plain_quotes(query))
    return len(outside.split()) > PROSE_WORDS and bool(re.search(r"[.?!](?:\s|$)", outside))


def query_size(query: str) -> tuple[int, int]:
    """Return how many different words a query has, and how many operators.

    Words are runs of letters and digits, of scripts without word spaces pairs of syllables.
    Operators are phrases, exclusions, and each `or` between alternatives.
    """
    words = set(re.findall(r"[^\W_]+", indexable_text(query).casefold()))
    groups = query_groups(query)["groups"]
    operators = sum(len(group["phrases"]) + len(group["excluded"]) for group in groups)
    return len(words), operators + max(len(groups) - 1, 0)


# What a query means under one text search configuration.

# The end of I'm, don't and you'll, which would rank as a rare letter.
_ENDS = r"(?i)([^\W\d_])['\u2019](m|d|s|t|ll|re|ve)\b"
_ONE_WORD_WITH_SIGNS = r"(?s)(?=.*[^\W_][\W_])\S+"
_LEXEMES = "SELECT q.* FROM pgblend._query_lexemes(ARRAY[$1], ARRAY[$2], ARRAY[$2], $3) AS q"
_CONDITION = "SELECT pgblend._query_condition($1, $2, $3)::text AS condition"
_CONDITION_TYPES = ["integer[]", "tsquery[]", "boolean[]"]
_QUOTED = r"'((?:[^']|'')*)'"
_OPERANDS = "SELECT o.* FROM pgblend._query_operands($1, $2, $3) AS o"
_SIZE = "SELECT pgblend._check_size('the query', $1, $2, $3)"
LEAST_LIMIT = 100  # of the setting limits


Operand = tuple[int, str, bool]  # number of the alternative, tsquery, whether it is excluded


class Parsed(NamedTuple):
    """The lexemes that rank, how many times its idf each weighs, and what must hold."""

    lexemes: Sequence[str]
    boosts: Sequence[float]
    operands: Sequence[Operand]

    def columns(self) -> Sequence[Sequence[Any]]:
        """Return alternatives, operands and exclusions."""
        return [[operand[place] for operand in self.operands] for place in range(3)]


class AskedWords(NamedTuple):
    """A query, the words of it that rank, and its alternatives (query_groups).

    `text` has the words without the ends of I'm and don't.
    """

    query: str
    words: str
    text: str
    groups: Sequence[dict[str, list[str]]]


@lru_cache(maxsize=10)  # a search asks it several times
def asked_of(query: str) -> AskedWords:
    """Return what a query asks for, before any language is known."""
    words, groups = query, []
    if has_operators(query):
        parts = query_groups(query)
        words, groups = parts["words"], parts["groups"]
    return AskedWords(query, words, re.sub(_ENDS, r"\1", words), groups)


def parse_query(db: Database, query: str, config: str, stop_words: Sequence[str]) -> Parsed:
    """Return what a query means; `stop_words` are left out beside the configuration's own."""
    asked = asked_of(query)
    return parsed(db, asked, _words(db, asked.text, config, stop_words))


def _words(db: Database, text: str, config: str, stop_words: Sequence[str]) -> Row:
    """Return the words of a text in a configuration, a row of _query_lexemes."""
    values = indexable_text(text, config), config, stop_words
    (words,) = db.run(_LEXEMES, ["text", "text", "text[]"], *values)
    return words


def parsed(db: Database, asked: AskedWords, words: Row) -> Parsed:
    """Return what a query means by its words in a configuration, a row of _query_lexemes.

    A word weighs tf · 11 / (tf + 10), as in Okapi. Where identifiers make at least half of the
    query, each is a lexeme of its own ("=…") beside its words. It is no more frequent than any of
    them. So this many times its idf (and a tenth, for long passages) outweighs them all, however
    often they are repeated. Names of documents ("==…") come far before all of these, so that fusion
    keeps them first. They are the identifiers. So is the query as a whole beside them or where it
    is one word with signs (fake-memo). Options of commands ("=--force", "=-x") and pictures weigh
    as words do. So does an excluded word as an option: what has it as it stands is meant.
    """
    counts = zip(words["lexemes"], words["counts"], strict=True)
    boosts = {lexeme: 11.0 * count / (10 + count) for lexeme, count in counts}
    options = [name for name in identifiers(asked.words, False) if not is_code(name)]
    options += [option for group in asked.groups for option in map(as_option, group["excluded"])]
    boosts |= {f"={name}": 1.0 for name in options if name}
    boosts |= _names(db, asked, words)
    operands = _binding(db, words["config_name"], asked.groups)
    ranked = sorted(boosts)
    return Parsed(ranked, [boosts[lexeme] for lexeme in ranked], operands)


def _names(db: Database, asked: AskedWords, words: Row) -> dict[str, float]:
    """Return identifiers and names as lexemes, and how many times its idf each weighs."""
    codes = [name for name in identifiers(asked.words, False) if is_code(name)]
    if not codes and not re.fullmatch(_ONE_WORD_WITH_SIGNS, asked.query):
        return {}
    boost = max(1.0, 11 * sum(words["counts"]) / 10)
    whole = whole_name(asked.words)
    names = {f"=={name}": 10 * boost * (1 + len(codes)) for name in (*codes, whole)}
    names.pop("==", None)
    if not codes:
        return names
    of_codes = _words(db, " ".join(codes), words["config_name"], [])
    if 2 * len(of_codes["lexemes"]) < len(words["lexemes"]):
        return {}
    return {**{f"={code}": boost for code in codes}, **names}


def is_code(name: str) -> bool:
    """Tell an identifier from an option of a command and a picture, which weigh as words do."""
    return name[0] != "-" and not re.fullmatch(PICTURE, name)


def as_option(excluded: str) -> str:
    """Return an excluded word as the option that it may be; "" where it can be none."""
    return f"-{small(excluded)}" if re.fullmatch(r"[A-Za-z][\w-]*", excluded) else ""


def _binding(db: Database, config: str, groups: Sequence[dict[str, list[str]]]) -> list[Operand]:
    """Return what must hold of a passage; nothing where an alternative asks for nothing."""
    operands = list(_operands(db, config, groups))
    return operands if len({number for number, *_ in operands}) == len(groups) else []


def _operands(
    db: Database, config: str, groups: Sequence[dict[str, list[str]]]
) -> Iterator[Operand]:
    """Return what must hold of a passage, alternative by alternative: phrases and exclusions.

    One of several alternatives that has no phrase asks for any of its words. Where none has phrases
    or exclusions, that would say no more than the lexemes do. A word is not excluded where it
    stands as an option, with the dash.
    """
    if not any(group["phrases"] or group["excluded"] for group in groups):
        return
    asked = [
        (number, kind, text)
        for number, group in enumerate(groups, 1)
        for kind, texts in (
            ("phrase", group["phrases"]),
            ("words", [" ".join(group["words"])] if len(groups) > 1 else []),
            ("excluded", group["excluded"]),
        )
        for text in texts
    ]
    texts, is_words = [text for *_, text in asked], [kind == "words" for _, kind, _ in asked]
    rows = _operand_rows(db, config, texts, is_words)
    of_rows = [(*asked[row["place"]], row["operand"]) for row in rows]
    found = [
        (number, kind, _unless_option(operand, kind, text))
        for number, kind, text, operand in of_rows
    ]
    with_phrases = {number for number, kind, _ in found if kind == "phrase"}
    for number, kind, operand in found:
        if kind != "words" or number not in with_phrases:
            yield number, operand, kind == "excluded"


def literal_condition(db: Database, query: str, config: str) -> str:
    """Return what a query asks of bodies as a tsquery: all of its words, nothing it excludes."""
    # Words that are one name; those that may be several are spelt so each by itself, as a phrase.
    joined = [one for one in spelt_anew(query) if len(one.split()) < len(query.split())]
    groups = [group for text in (query, *joined) for group in query_groups(text)["groups"]]
    asked = [
        (number, kind, text)
        for number, group in enumerate(groups, 1)
        for kind in ("words", "phrases", "excluded")
        for text in group[kind]
    ]
    texts = [text for *_, text in asked]
    rows = _operand_rows(db, config, texts, [False] * len(texts))
    if not rows:
        return ""
    found = [(row["operand"], *asked[row["place"]]) for row in rows]
    operands = [
        (number, _unless_option(re.sub(_QUOTED, _weighed, operand), kind, text), kind == "excluded")
        for operand, number, kind, text in found
    ]
    return joined_condition(db, operands)


def _operand_rows(
    db: Database, config: str, texts: Sequence[str], is_words: Sequence[bool]
) -> Rows:
    """Return texts as tsqueries under a configuration, rows of _query_operands.

    Any spelling of a text's names will do (spelt_anew), of a single word as a dotted name as well.
    Pictures stand beside a phrase's words, wherever they are.
    """
    spelt = [(place, other) for place, text in enumerate(texts) for other in spelt_anew(text)]
    asked = [*texts, *(other for _, other in spelt)]
    of_words = [*is_words, *(is_words[place] for place, _ in spelt)]
    values = config, [indexable_text(text, config) for text in asked], of_words
    rows = db.run(_OPERANDS, ["text", "text[]", "boolean[]"], *values)
    places = [*range(len(texts)), *(place for place, _ in spelt)]
    operands: dict[int, list[str]] = {}
    for row in rows:
        place, operand = row["place"], row["operand"]
        # A spelling that loses a stop word (a 380) would be any passage with the rest.
        if place < len(texts) or len(re.findall(_QUOTED, operand)) >= len(asked[place].split()):
            operands.setdefault(places[place], []).append(f"({operand})")
    for place, found in operands.items():
        if not is_words[place]:
            found += (f"'={name}'" for name in dotted_names(texts[place]))
    joined = {place: " | ".join(found) for place, found in operands.items()}
    for place, text in enumerate(texts):
        if shown := [f"'={one}'" for one in pictures(text)]:
            words = [f"({joined[place]})"] if place in joined else []
            joined[place] = (" | " if is_words[place] else " & ").join([*words, *shown])
    return [{"place": place, "operand": operand} for place, operand in sorted(joined.items())]


def joined_condition(db: Database, operands: Sequence[Operand]) -> str:
    """Return what must hold of a passage as a tsquery."""
    values = map(list, zip(*operands, strict=True))
    condition: str = db.run(_CONDITION, _CONDITION_TYPES, *values)[0]["condition"]
    return condition


def binding_operands(
    db: Database, query: str | None, configs: Callable[[], Sequence[str]]
) -> dict[str, list[Operand]]:
    """Return a query's phrases and exclusions by text search configuration, all or none.

    A query without any, or None, has none; then nobody is asked for the configurations.
    """
    if query is None or not {'"', "-"}.intersection(query):
        return {}
    groups = asked_of(query).groups
    found = {config: _binding(db, config, groups) for config in configs()}
    return found if any(found.values()) else {}


def binding_conditions(db: Database, operands: Mapping[str, Sequence[Operand]]) -> dict[str, str]:
    """Return as a tsquery what binds in each configuration, where anything does."""
    return {config: joined_condition(db, of) for config, of in operands.items() if of}


def asks_name(db: Database, query: str, config: str) -> list[str]:
    """Return the names of documents that a query asks for, as lexemes."""
    lexemes = parse_query(db, query, config, []).lexemes
    return [lexeme for lexeme in lexemes if lexeme.startswith("==")]


def check_query(db: Database, query: str, limits: Mapping[str, int] | None = None) -> None:
    """Raise unless a query is within the setting limits, before anything parses it.

    Who knows what is set gives it. Characters are counted first, so that what counts words and
    operators is bounded itself.
    """

    def check(size: int, unit: str, limit: str) -> None:
        if size <= LEAST_LIMIT:
            return
        if limits is not None:
            check_size(limits, limit, "the query", size, unit)
        else:
            db.run(_SIZE, ["bigint", "text", "text"], size, unit, limit)

    check(len(query), "characters", "query_characters")
    # Of ASCII, two words or operators have three characters at least, with what parts them.
    if len(query) <= (LEAST_LIMIT * 3 // 2 if query.isascii() else LEAST_LIMIT):
        return
    words, operators = query_size(query)
    check(operators, "operators (phrases, exclusions, or)", "query_operators")
    check(words, "different words", "query_words")


def _weighed(match: re.Match[str]) -> str:
    """Return a tsquery's lexeme with the weight of bodies; names and single syllables have C."""
    if match[1][:1] == "=":
        return f"{match[0]}:C"
    runs = re.fullmatch(RUN, match[1]) and re.findall(SYLLABLE, match[1])
    return f"{match[0]}:{'CD' if runs and len(runs) == 1 else 'D'}"


def _unless_option(operand: str, kind: str, text: str) -> str:
    """Return an operand; of an excluded word, that it stands and is no option."""
    option = as_option(text) if kind == "excluded" else ""
    return f"({operand}) & !'={option}'" if option else operand
