-- _rank_passages: the places, scores and arms of one page: all arms, fused, cut to the page.
-- The order of all candidates depends on the settings alone, never on result_limit or offset. An
-- arm of weight 0 does not run, nor the vector arm without a query vector, nor the fuzzy arm by the
-- setting fuzzy (off, or auto with the words' arm not running). score is what fusion gave, divided
-- by what a passage first in every list would get; of a single list it is that arm's own: BM25 over
-- what no passage can reach, or (1 + cosine) / 2. With recency_half_life_days it is times what the
-- document's age leaves (recency in details). relevance is the exact cosine, NULL without a
-- query vector. `trace` says what each stage did: with `traced` page also how each row of the page
-- came to its place, with pool each candidate; with none it is NULL. Where words count, phrases and
-- exclusions bind the vectors too. Ties go by (document, chunk index).
CREATE OR REPLACE FUNCTION pgblend._rank_passages(
    query text,
    result_limit integer,
    query_embedding vector,
    space text,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb,
    traced text,
    OUT chunk_ids bigint[],
    OUT ranks integer[],
    OUT scores double precision[],
    OUT relevances double precision[],
    OUT arms jsonb[],
    OUT details jsonb[],
    OUT candidate_count integer,
    OUT trace jsonb
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $python$
#include plpy/is_strong_signal.py
#include plpy/merge_lists.py
#include plpy/page_start.py
#include plpy/recency_decay.py
import json
from time import perf_counter

ARM = (
    "SELECT array_agg(a.rank) AS ranks, array_agg(a.chunk_id) AS chunk_ids,"
    " array_agg(a.document_id) AS document_ids, array_agg(a.chunk_index) AS chunk_indexes,"
    " array_agg(a.{score}) AS scores{more} FROM {arm} AS a")
WORDS = ARM.format(
    score="score", more=", max(a.perfect_score) AS perfect",
    arm="pgblend._lexical_arm($1, $2, $3, $4)")
VECTORS = ARM.format(
    score="cosine", more="",
    arm="pgblend._vector_arm($5, (SELECT s FROM pgblend_data.embedding_space AS s"
    " WHERE s.name = $6), $2, $1, $3, $4)")
FUZZY = ARM.format(
    score="score",
    more=", max(a.perfect_score) AS perfect, array_agg(a.corrections) AS corrections",
    arm="pgblend._fuzzy_arm($1, $2, $3, $4)")
COSINES = (
    "SELECT c.chunk_id, c.cosine FROM pgblend._cosines($1, $2, (SELECT s"
    " FROM pgblend_data.embedding_space AS s WHERE s.name = $3)) AS c")
AGES = "SELECT pgblend._document_ages($1) AS ages"
in_force = json.loads(settings)
weights = in_force["weights"]
stages = []
started = perf_counter()
clock = [started]

def run(statement, types, *values):
    if statement not in SD:
        SD[statement] = plpy.prepare(statement, types)
    return SD[statement].execute(list(values))

def done(stage, rows, **more):
    now = perf_counter()
    stages.append({"name": stage, "ms": (now - clock[0]) * 1000, "rows": rows, **more})
    clock[0] = now

def search(arm, weight, statement, types, *values):
    row = run(statement, types, *values)[0]
    columns = {name: value or [] for name, value in row.items() if name != "perfect"}
    done(arm, len(columns["ranks"]))
    return {"arm": arm, "weight": weight, "perfect": row.get("perfect"), **columns}

def cosines(ids):
    if query_embedding is None or not ids:
        return {}
    rows = run(COSINES, ["bigint[]", "vector", "text"], ids, query_embedding, space)
    return {row["chunk_id"]: row["cosine"] for row in rows}

def ages():
    if in_force["recency_half_life_days"] is None or not count:
        return []
    return run(AGES, ["bigint[]"], pool["document_ids"])[0]["ages"]

ASKED = ["text", "bigint[]", "jsonb", "jsonb"]
asked = [query, collection_ids, filter, settings]
lists = []
if weights["lexical"] > 0:
    lists.append(search("lexical", weights["lexical"], WORDS, ASKED, *asked))
if weights["vector"] > 0 and query_embedding is not None:
    binding = [query if weights["lexical"] > 0 else None, *asked[1:]]
    lists.append(search(
        "vector", weights["vector"], VECTORS, [*ASKED, "vector", "text"],
        *binding, query_embedding, space))
if weights["fuzzy"] > 0 and (
        in_force["fuzzy"] == "on" or in_force["fuzzy"] == "auto" and weights["lexical"] > 0):
    fuzzy = search("fuzzy", weights["fuzzy"], FUZZY, ASKED, *asked)
    corrections = {text: json.loads(text) for text in set(fuzzy["corrections"]) - {None}}
    correction_of = dict(zip(fuzzy["ranks"], fuzzy["corrections"]))
    # It may find nothing to put right: then it is no list that a passage could miss. Where it
    # did, it has all that the words' arm has and more, which then only breaks ties.
    if fuzzy["ranks"]:
        lists.append(fuzzy)
    if corrections and weights["lexical"] > 0:
        lists[0]["weight"] /= 8

if traced != "none" and weights["lexical"] > 0:
    strong, top = is_strong_signal(
        lists[0]["scores"], lists[0]["perfect"], in_force["strong_signal"])
    done("strong_signal", len(top), details={
        "strong": strong, "top": top, "expansion": "skipped_strong" if strong else "wanted"})

pool = merge_lists(lists)
count = len(pool["chunk_ids"])
keys = list(zip(pool["document_ids"], pool["chunk_indexes"]))
k = in_force["rrf_k"]
if len(lists) == 1:
    alone = lists[0]
    points = [
        max((1 + score) / 2, 0.0) if alone["arm"] == "vector" else score / alone["perfect"]
        for score in pool["scores"][0]]
else:
    attainable = sum(of_list["weight"] / (k + 1) for of_list in lists) or 1.0
    points = [
        sum(of_list["weight"] / (k + rank)
            for of_list, rank in zip(lists, of_item) if rank is not None) / attainable
        for of_item in zip(*pool["ranks"])]
recency = recency_decay([1.0] * count, ages(), in_force["recency_half_life_days"])
points = [min(score, 1.0) * factor for score, factor in zip(points, recency)]
order = sorted(range(count), key=lambda item: -points[item])
done("fuse", count)
places = {"fuse": order}

known = {}
for of_list, list_scores in zip(lists, pool["scores"]):
    if of_list["arm"] == "vector":
        known = {
            chunk_id: score for chunk_id, score in zip(pool["chunk_ids"], list_scores)
            if score is not None}

def learn(items):
    ids = [pool["chunk_ids"][item] for item in items]
    known.update(cosines([chunk_id for chunk_id in ids if chunk_id not in known]))

kept = [item for item in order if points[item] >= in_force["min_score"]]
if in_force["min_relevance"] is not None:
    learn(kept)
    kept = [
        item for item in kept
        if known.get(pool["chunk_ids"][item]) is not None
        and known[pool["chunk_ids"][item]] >= in_force["min_relevance"]]
after = in_force["after"]
if after and len(after) < 3:
    plpy.error(
        f"options: \"after\" is {json.dumps(after)}: expected score, document_id and chunk_index",
        sqlstate="22023", hint="Take details -> 'cursor' of the last row of the page before.")
start = page_start([(points[item], *keys[item]) for item in kept], after)
if start is None:
    plpy.error(
        "the row of the option after is no longer found", sqlstate="22023",
        hint="Begin again without after, or use offset.")
places["page"] = kept
start += in_force["offset"]
depth = in_force["candidate_depth"]
if start + result_limit > depth:
    plpy.warning(
        f"rows beyond candidate_depth ({depth}) are not found: offset {start} + limit"
        f" {result_limit} asks for more", hint="Raise the option candidate_depth.")
page = kept[start:min(start + result_limit, depth)]
learn(page)
done("page", len(page))

def arms_of(item):
    of_item = {}
    for of_list, list_ranks, list_scores in zip(lists, pool["ranks"], pool["scores"]):
        rank = list_ranks[item]
        if rank is None:
            continue
        of_arm = {"rank": rank, "score": list_scores[item]}
        if of_list["arm"] == "fuzzy":
            of_arm["method"] = "vocabulary"
            if correction_of[rank] is not None:
                of_arm["corrections"] = corrections[correction_of[rank]]
        of_item[of_list["arm"]] = of_arm
    return of_item

def details_of(item):
    document_id, chunk_index = keys[item]
    found = {
        "relevance_basis": None if query_embedding is None else "cosine",
        "cursor": {
            "score": points[item], "document_id": document_id, "chunk_index": chunk_index}}
    if in_force["recency_half_life_days"] is not None:
        found["recency"] = recency[item]
    return found

def trace_of(item):
    """How a candidate came to its place: its part of the score by each arm, its place by stage."""
    of_item = arms_of(item)
    for of_list, list_ranks in zip(lists, pool["ranks"]):
        if list_ranks[item] is not None:
            of_item[of_list["arm"]] |= {
                "weight": of_list["weight"],
                "contribution": points[item] if len(lists) == 1
                else of_list["weight"] / (k + list_ranks[item]) / attainable * recency[item]}
    return {
        "arms": of_item,
        "places": {stage: place[item] for stage, place in place_of.items() if item in place}}

trace = None
if traced != "none":
    place_of = {
        stage: {item: place for place, item in enumerate(items, 1)}
        for stage, items in places.items()}
    trace = {
        "stages": stages, "ms": (perf_counter() - started) * 1000,
        "rows": [trace_of(item) for item in page]}
    if traced == "pool":
        trace["candidates"] = [
            {"chunk_id": pool["chunk_ids"][item], "document_id": keys[item][0],
             "chunk_index": keys[item][1], "score": points[item], **trace_of(item)}
            for item in order]

ids = pool["chunk_ids"]
return {
    "chunk_ids": [ids[item] for item in page],
    "ranks": list(range(start + 1, start + 1 + len(page))),
    "scores": [points[item] for item in page],
    "relevances": [known.get(ids[item]) for item in page],
    "arms": [json.dumps(arms_of(item)) for item in page],
    "details": [json.dumps(details_of(item)) for item in page],
    "candidate_count": count,
    "trace": trace and json.dumps(trace),
}
$python$;

COMMENT ON FUNCTION pgblend._rank_passages(
    text, integer, vector, text, bigint[], jsonb, jsonb, text
) IS
'The places, scores and arms of one page of a search: all arms, fused, cut to the page; how many '
'candidates there were, and a trace of the stages.';
