-- _rank_passages: the places, scores and arms of one page: all arms, fused, cut to the page.
-- The order of all candidates depends on the settings alone, never on result_limit or offset. An
-- arm of weight 0 does not run, nor the vector arm without a query vector, nor the fuzzy arm by the
-- setting fuzzy (off, or auto with the words' arm not running). score is what fusion gave, divided
-- by what a passage first in every list would get; of a single list it is that arm's own: BM25 over
-- what no passage can reach, or (1 + cosine) / 2. With recency_half_life_days it is times what the
-- document's age leaves (recency in details). relevance is the exact cosine, NULL without a query
-- vector. `trace` says what each stage did: with `traced` page also how each row of the page
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
#include plpy/arm_depth.py
#include plpy/arm_normalization.py
#include plpy/candidate_arms.py
#include plpy/convex_fusion.py
#include plpy/documents_once.py
#include plpy/drop_duplicates.py
#include plpy/fuse_ranks.py
#include plpy/is_strong_signal.py
#include plpy/merge_lists.py
#include plpy/mmr_select.py
#include plpy/near_duplicates.py
#include plpy/normalize_scores.py
#include plpy/page_start.py
#include plpy/rank_bonus.py
#include plpy/recency_decay.py
#include plpy/scale_fused.py
#include plpy/spread_scores.py
#include plpy/trace_candidates.py
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
ASKED = ["text", "bigint[]", "jsonb", "jsonb"]
TEXTS = (
    "SELECT c.id, c.content, c.start_offset, c.end_offset FROM pgblend_data.chunk AS c"
    " WHERE c.id = ANY($1)")
AGES = "SELECT pgblend._document_ages($1) AS ages"
FEEDBACK = (
    "SELECT f.chunk_id, f.cosine FROM pgblend._feedback_cosines($1, $2, $3, $4,"
    " (SELECT s FROM pgblend_data.embedding_space AS s WHERE s.name = $5)) AS f")
in_force = json.loads(settings)
weights = in_force["weights"]
wanted = in_force["offset"] + result_limit
depth = arm_depth(
    in_force["over_fetch"], in_force["candidate_depth"], wanted, reranked=False, variant=False)
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

def skip(stage, reason):
    stages.append({"name": stage, "skipped": reason})

# --- arms: one list each
if depth == in_force["candidate_depth"]:
    asked = [query, collection_ids, filter, settings]
else:
    asked = [query, collection_ids, filter, json.dumps(in_force | {"candidate_depth": depth})]
lists = []

def search(arm, statement, types, *values):
    row = run(statement, types, *values)[0]
    columns = {name: value or [] for name, value in row.items() if name != "perfect"}
    done(arm, len(columns["ranks"]))
    lists.append({"arm": arm, "weight": weights[arm], "perfect": row.get("perfect"), **columns})
    return lists[-1]

if weights["lexical"] > 0:
    search("lexical", WORDS, ASKED, *asked)
else:
    skip("lexical", "its weight is 0")
if weights["vector"] == 0 or query_embedding is None:
    skip("vector", "its weight is 0" if weights["vector"] == 0 else "the query has no vector")
else:
    binding = query if weights["lexical"] > 0 else None
    search("vector", VECTORS, [*ASKED, "vector", "text"],
           binding, *asked[1:], query_embedding, space)
if weights["fuzzy"] == 0 or in_force["fuzzy"] == "off" or (
        in_force["fuzzy"] == "auto" and weights["lexical"] == 0):
    skip("fuzzy", "its weight is 0" if weights["fuzzy"] == 0 else "by the setting fuzzy")
else:
    fuzzy = search("fuzzy", FUZZY, ASKED, *asked)
    method = {"method": in_force["fuzzy_method"]}
    parsed = {
        text: method | ({"corrections": json.loads(text)} if text else {})
        for text in set(fuzzy["corrections"])}
    fuzzy["notes"] = {
        rank: parsed[text] for rank, text in zip(fuzzy["ranks"], fuzzy["corrections"])}
    # It may find nothing to put right: then it is no list that a passage could miss. Where it
    # did, it has all that the words' arm has and more, which then only breaks ties.
    if not fuzzy["ranks"]:
        lists.pop()
    if weights["lexical"] > 0 and any(fuzzy["corrections"]):
        lists[0]["weight"] /= 8
not_run = in_force.get("not_run", {})
of_all = {
    "mode": in_force["mode"], **({"not_run": not_run} if not_run else {}),
    "relevance_basis": None if query_embedding is None else "cosine"}
if weights["lexical"] > 0 and (traced != "none" or "expand" in not_run):
    strong, top = is_strong_signal(
        lists[0]["scores"], lists[0]["perfect"], in_force["strong_signal"])
    expansion = "skipped_strong" if strong else "wanted"
    done("strong_signal", len(top), details={"strong": strong, "top": top, "expansion": expansion})
    if "expand" in not_run:
        of_all["expansion"] = expansion

# --- fuse: points in [0, 1], and the scale that later stages compare on
if in_force["level"] == "document":
    lists = documents_once(lists)
pool = merge_lists(lists)
ids, ranks = pool["chunk_ids"], pool["ranks"]
keys = list(zip(pool["document_ids"], pool["chunk_indexes"]))
count = len(ids)
arms = [of_list["arm"] for of_list in lists]
weighed = [of_list["weight"] for of_list in lists]

def possible(of_list):
    """The lowest and highest score that an arm can give."""
    return (-1.0, 1.0) if of_list["arm"] == "vector" else (0.0, of_list["perfect"] or 1.0)

def comparable(list_scores):
    """The lists' scores on one scale, and the lists' weights."""
    given = [of_list["weight"] for of_list in lists]
    if in_force["normalization"]["method"] == "spread":
        floors = [None if arm == "vector" else 0.0 for arm in arms]
        return spread_scores(list_scores, given, floors, depth)
    return [
        normalize_scores(scores, *arm_normalization(
            in_force["normalization"], of_list["arm"], *possible(of_list)))
        for of_list, scores in zip(lists, list_scores)], given

def learn_from_first(first, feedback):
    """The vector list's scores for a query vector moved towards the first passages."""
    rows = run(
        FEEDBACK, ["bigint[]", "bigint[]", "vector", "double precision", "text"],
        [ids[item] for item in first[:feedback["pool"]]],
        [ids[item] for item in first[:feedback["passages"]]],
        query_embedding, feedback["weight"], space)
    moved = {row["chunk_id"]: row["cosine"] for row in rows if row["cosine"] is not None}
    return [
        [moved.get(chunk_id, score) for chunk_id, score in zip(ids, scores)]
        if arm == "vector" else scores
        for arm, scores in zip(arms, pool["scores"])]

normal = None
feedback = None
if in_force["fusion"] == "convex" and len(lists) > 1:
    normal, weighed = comparable(pool["scores"])
    fused, attainable = convex_fusion(normal, weighed), 1.0
    if in_force["feedback"]["passages"] > 0 and "vector" in arms and count:
        first = sorted(range(count), key=lambda item: -fused[item])
        normal, weighed = comparable(learn_from_first(first, in_force["feedback"]))
        fused = convex_fusion(normal, weighed)
        feedback = [ids[item] for item in first[:in_force["feedback"]["passages"]]]
elif len(lists) == 1 and in_force["fused_scale"] == "attainable":
    low, high = possible(lists[0])
    normal = [[max((score - low) / (high - low), 0.0) for score in pool["scores"][0]]]
    fused, attainable = normal[0], 1.0
else:
    fused, attainable = fuse_ranks(ranks, weighed, in_force["rrf_k"])
bonus, largest_bonus = [0.0] * count, 0.0
if in_force["bonus"]["kind"] != "none" and (normal is None or len(lists) > 1):
    # Words and vectors are two ways of searching; the arms of words are one.
    ways = [[of_list for arm, of_list in zip(arms, ranks) if (arm == "vector") == by_vector]
            for by_vector in (False, True)]
    best_ranks = [
        [min((rank for rank in of_item if rank is not None), default=None)
         for of_item in zip(*of_way)]
        for of_way in ways if of_way]
    bonus, largest_bonus = rank_bonus(best_ranks, in_force["bonus"], attainable)
    fused = [sum(both) for both in zip(fused, bonus)]
    attainable += largest_bonus
recency = None
if in_force["recency_half_life_days"] is not None and count:
    ages = run(AGES, ["bigint[]"], pool["document_ids"])[0]["ages"]
    recency = recency_decay([1.0] * count, ages, in_force["recency_half_life_days"])
    fused = [score * factor for score, factor in zip(fused, recency)]
points = scale_fused(fused, attainable, "attainable")

def contributions():
    """Each list's part of the fused sums, by item."""
    if normal is None:
        return [fuse_ranks([of_list], [weight], in_force["rrf_k"])[0]
                for of_list, weight in zip(ranks, weighed)]
    total = sum(weighed) or 1
    return [[weight * (score or 0.0) / total for score in of_list]
            for of_list, weight in zip(normal, weighed)]

order = sorted(range(count), key=lambda item: -points[item])
places = {"fuse": order}
done("fuse", count, **({"details": {"feedback": feedback}} if feedback else {}))

# --- refine: leave out what repeats a better row or is not good enough, as far as the page needs
cosine_of = {}
if "vector" in arms:
    list_scores = pool["scores"][arms.index("vector")]
    cosine_of = {ids[item]: score for item, score in enumerate(list_scores) if score is not None}

def embeddings(items, column, *values):
    """A column of the space's table for some items, by chunk id."""
    if not items or space is None:
        return {}
    found = run(
        "SELECT format('%I(%s)', s.storage, s.dimensions) AS type,"
        " quote_ident(s.table_name) AS name FROM pgblend_data.embedding_space AS s"
        " WHERE s.name = $1", ["text"], space)[0]
    rows = run(
        f"SELECT e.chunk_id, {column.format(type=found['type'])} AS value"
        f" FROM pgblend_data.{found['name']} AS e WHERE e.chunk_id = ANY($1)",
        ["bigint[]", *["vector"] * len(values)], [ids[item] for item in items], *values)
    return {row["chunk_id"]: row["value"] for row in rows}

def learn_cosines(items):
    """Exact cosines of the rows that no arm gave one; a zero vector has none."""
    if query_embedding is not None:
        cosine_of.update(embeddings(
            [item for item in items if ids[item] not in cosine_of],
            "nullif(1 - (e.embedding <=> $2::{type}), 'NaN')", query_embedding))

dropped = {}

def distinct(items):
    kind, cap = in_force["dedup"], in_force["per_document"]
    if kind == "off" and cap is None:
        return items
    texts = {}
    if kind != "off":
        rows = run(TEXTS, ["bigint[]"], [ids[item] for item in items])
        texts = {row["id"]: row for row in rows}
    column = lambda name: [texts.get(ids[item], {}).get(name) for item in items]
    spans = kind in ("overlap", "near")
    contents = column("content") if kind != "off" else None
    # Without text, titles tell passages apart.
    texted = contents and [text if text and text.strip() else None for text in contents]
    repeats = drop_duplicates(
        texted, [keys[item][0] for item in items],
        column("start_offset") if spans else None, column("end_offset") if spans else None,
        near_duplicates(contents, in_force["dedup_similarity"]) if kind == "near" else None,
        in_force["dedup_overlap"], cap, len(items))
    for item, repeat in zip(items, repeats):
        if repeat:
            dropped[item] = {
                "stage": "dedup", "reason": repeat[1], "likeness": repeat[2],
                "duplicate_of": ids[items[repeat[0]]]}
    return [item for item, repeat in zip(items, repeats) if repeat is None]

def good(items):
    least, relevant = in_force["min_score"], in_force["min_relevance"]
    if relevant is not None:
        learn_cosines(items)
    kept = []
    for item in items:
        relevance = cosine_of.get(ids[item])
        if points[item] < least:
            dropped[item] = {"stage": "page", "reason": "min_score"}
        elif relevant is not None and (relevance is None or relevance < relevant):
            dropped[item] = {"stage": "page", "reason": "min_relevance"}
        else:
            kept.append(item)
    return kept

after = in_force["after"]
if after and len(after) < 3:
    plpy.error(
        f"options: \"after\" is {json.dumps(after)}: expected score, document_id and chunk_index",
        sqlstate="22023", hint="Take details -> 'cursor' of the last row of the page before.")

def start_in(items):
    return page_start([(points[item], *keys[item]) for item in items] if after else [], after)

diverse = in_force["mmr"]["lambda"] < 1
needed = max(start_in(order), in_force["mmr"]["pool"] if diverse else 0) + wanted
looked_at = count if traced == "pool" else needed + 5
while True:
    kept = distinct(order[:looked_at])
    best = good(kept)
    if len(best) >= needed or looked_at >= count:
        break
    looked_at *= 4
places["dedup"] = kept
if in_force["dedup"] == "off" and in_force["per_document"] is None:
    skip("dedup", "by the setting dedup")
else:
    done("dedup", len(kept), details={
        "looked_at": min(looked_at, count), "dropped": min(looked_at, count) - len(kept)})

for stage in ("rerank", "blend"):
    skip(stage, not_run.get("rerank", f"by the mode {in_force['mode']}"))

# --- diversify
if diverse:
    vectors = embeddings(best[:in_force["mmr"]["pool"]], "e.embedding::text")
    scaled = scale_fused(fused, attainable, in_force["fused_scale"])
    chosen = mmr_select(
        [scaled[item] for item in best], [vectors.get(ids[item]) for item in best],
        in_force["mmr"]["lambda"], in_force["mmr"]["pool"], None)
    best = [best[index] for index, _, _ in chosen]
    places["mmr"] = best
    done("mmr", len(best))
else:
    skip("mmr", "lambda is 1")

# --- page
start = start_in(best)
if start is None:
    plpy.error(
        "the row of the option after is no longer found", sqlstate="22023",
        hint="Begin again without after, or use offset.")
start += in_force["offset"]
if start + result_limit > depth:
    plpy.warning(
        f"rows beyond candidate_depth ({depth}) are not found: offset {start} + limit"
        f" {result_limit} asks for more", hint="Raise the option candidate_depth.")
page = best[start:min(start + result_limit, depth)]
learn_cosines(page)
places["page"] = best
done("page", len(page))

said = [candidate_arms(item, lists, ranks, pool["scores"]) for item in page]
trace = None
if traced != "none":
    left = recency or [1.0] * count
    parts = {
        arm: (weight, [part * share for part, share in zip(of_list, left)])
        for arm, weight, of_list in zip(arms, weighed, contributions())}
    bonus = [part * share for part, share in zip(bonus, left)]
    trace = {
        "stages": stages, "ms": (perf_counter() - started) * 1000,
        "rows": trace_candidates(page, said, parts, bonus, attainable, places)}
    if traced == "pool":
        told = [candidate_arms(item, lists, ranks, pool["scores"]) for item in order]
        trace["candidates"] = [
            {"chunk_id": ids[item], "document_id": keys[item][0], "chunk_index": keys[item][1],
             "score": points[item], "relevance": cosine_of.get(ids[item]),
             **({"dropped": dropped[item]} if item in dropped else {}), **row}
            for item, row in zip(
                order, trace_candidates(order, told, parts, bonus, attainable, places))]
if in_force["fused_scale"] != "attainable":
    for item, of_item in zip(page, said):
        of_item["fused"] = {"rank": order.index(item) + 1, "score": fused[item]}
details = [
    {**of_all, **({"recency": recency[item]} if recency else {}),
     "cursor": {
         "score": points[item], "document_id": keys[item][0], "chunk_index": keys[item][1]}}
    for item in page]

return {
    "chunk_ids": [ids[item] for item in page],
    "ranks": list(range(start + 1, start + 1 + len(page))),
    "scores": [points[item] for item in page],
    "relevances": [cosine_of.get(ids[item]) for item in page],
    "arms": list(map(json.dumps, said)),
    "details": list(map(json.dumps, details)),
    "candidate_count": count,
    "trace": trace and json.dumps(trace),
}
$python$;

COMMENT ON FUNCTION pgblend._rank_passages(
    text, integer, vector, text, bigint[], jsonb, jsonb, text
) IS
'The places, scores and arms of one page of a search: all arms, fused, cut to the page; how many '
'candidates there were, and a trace of the stages.';
