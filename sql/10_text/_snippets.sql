-- _snippets: the best part of each passage as HTML: text escaped, words that match its query in
-- <mark>.
-- The arrays have an element for each passage. A query without lexemes gives the beginning.
-- Private-use characters stand for the marks and for < > / \ and signs, which the parser must not
-- see (as in _indexable_text), until all is escaped; the text's own are taken out first. Passages
-- without word spaces are marked as pairs and joined again. A word too long to be indexed raises no
-- NOTICE. All at once and in Python, since replacing characters takes SQL longer than the marking.
CREATE OR REPLACE FUNCTION pgblend._snippets(
    contents text[],
    queries text[],
    config_names text[]
)
RETURNS text[]
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET search_path FROM CURRENT
SET client_min_messages = warning
SET plan_cache_mode = force_generic_plan
AS $python$
#include plpy/join_bigrams.py
#include plpy/query_groups.py
#include plpy/spaced_bigrams.py
import re

START, STOP = "\ue000", "\ue001"
STAND_INS = {"<": "\ue002", ">": "\ue003", "/": "\ue004", "\\": "\ue005", "-": "\ue006"}
OWN = dict.fromkeys([START, STOP, *STAND_INS.values(), "\x1e", "\x1f"], "")
ESCAPED = {
    "&": "&amp;", '"': "&quot;", STAND_INS["<"]: "&lt;", STAND_INS[">"]: "&gt;",
    STAND_INS["/"]: "/", STAND_INS["\\"]: "\\", STAND_INS["-"]: "-",
    START: "<mark>", STOP: "</mark>"}
BLANKS = str.maketrans(dict.fromkeys(STAND_INS, " "))
MARKS = f"StartSel={START}, StopSel={STOP}, MaxFragments=0, "

def run(statement, types, *values):
    if statement not in SD:
        SD[statement] = plpy.prepare(statement, types)
    return SD[statement].execute(list(values))

def words_of(query):
    """Without operators there is nothing to parse."""
    if query and re.search(r'["-]|\bor\b', query, re.IGNORECASE):
        return query_groups(query)["words"]
    return query or ""

def replaced(text, signs):
    """With signs replaced one after the other: str.translate takes a hundred times as long."""
    for sign, other in signs.items():
        text = text.replace(sign, other)
    return text

def indexable(words):
    """_indexable_text; only other than ASCII may lack spaces between words."""
    words = words.translate(BLANKS)
    return words if words.isascii() else spaced_bigrams(words)

def any_of(lexemes):
    """A tsquery for any of the lexemes as text; an empty one is NULL."""
    quoted = (lexeme.replace("\\", "\\\\").replace("'", "''") for lexeme in lexemes or ())
    return " | ".join(f"'{lexeme}'" for lexeme in quoted) or None

written = [replaced(content, OWN) for content in contents]
plain = [replaced(text, STAND_INS) for text in written]
indexed = [
    stood_in if text.isascii() else spaced_bigrams(stood_in)
    for text, stood_in in zip(written, plain)]
in_pairs = [one != other for one, other in zip(plain, indexed)]
asked = list(dict.fromkeys(zip(queries, config_names)))
number_of = {pair: number for number, pair in enumerate(asked)}
lexemes = run(
    "SELECT c.oid::text AS config,"
    " tsvector_to_array(to_tsvector(c.oid::regconfig, a.words)) AS words"
    " FROM unnest($1, $2) WITH ORDINALITY AS a (words, config_name, number) LEFT JOIN LATERAL ("
    "  SELECT t.oid FROM pg_catalog.pg_ts_config AS t"
    "  WHERE t.cfgname = a.config_name AND pg_ts_config_is_visible(t.oid) OFFSET 0"
    " ) AS c ON true ORDER BY a.number",
    ["text[]", "text[]"], [indexable(words_of(query)) for query, _ in asked],
    [config_name for _, config_name in asked])
marked = run(
    "SELECT array_agg(ts_headline(u.config::regconfig, u.content, u.words::tsquery, u.options)"
    " ORDER BY u.place) AS contents FROM unnest($1, $2, $3, $4) WITH ORDINALITY"
    " AS u (content, words, config, options, place)", ["text[]"] * 4,
    indexed, [any_of(lexemes[number_of[pair]]["words"]) for pair in zip(queries, config_names)],
    [lexemes[number_of[pair]]["config"] for pair in zip(queries, config_names)],
    [MARKS + ("MaxWords=100, MinWords=50" if pairs else "MaxWords=40, MinWords=20")
     for pairs in in_pairs])[0]["contents"] or []

def snippet(text, pairs, passage):
    if text is not None:
        return join_bigrams(text, START, STOP) if pairs else text
    if pairs:
        return passage.strip(" ")[:100]
    return " ".join(re.split(r"\s+", passage.strip(" "))[:40])

return [
    replaced(snippet(text, pairs, passage), ESCAPED)
    for text, pairs, passage in zip(marked, in_pairs, plain)]
$python$;

COMMENT ON FUNCTION pgblend._snippets(text[], text[], text[]) IS
'The best part of each passage as HTML: text escaped, words that match its query in <mark>.';
