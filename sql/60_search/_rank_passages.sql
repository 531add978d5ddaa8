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
#include plpy/arm_list.py
#include plpy/candidate_arms.py
#include plpy/choose_passages.py
#include plpy/diverse_items.py
#include plpy/documents_once.py
#include plpy/fuse_lists.py
#include plpy/is_strong_signal.py
#include plpy/page_start.py
#include plpy/prepared_statements.py
#include plpy/scale_fused.py
#include plpy/search_lists.py
#include plpy/search_trace.py
#include plpy/stage_log.py
#include plpy/stored_passages.py
import json
from time import perf_counter

started = perf_counter()
stages, done, skip = stage_log(perf_counter)
run = prepared_statements(plpy.prepare, SD)
stored = stored_passages(run, query_embedding, space)
in_force = json.loads(settings)
weights = in_force["weights"]
after = in_force["after"]
if after and len(after) < 3:
    plpy.error(
        f"options: \"after\" is {json.dumps(after)}: expected score, document_id and chunk_index",
        sqlstate="22023", hint="Take details -> 'cursor' of the last row of the page before.")
wanted = in_force["offset"] + result_limit
depth = arm_depth(
    in_force["over_fetch"], in_force["candidate_depth"], wanted, reranked=False, variant=False)

# --- arms: one list each
arm_settings = settings
if depth != in_force["candidate_depth"]:
    arm_settings = json.dumps(in_force | {"candidate_depth": depth})

def search(arm):
    asked = [query, collection_ids, filter, arm_settings]
    if arm == "vector":
        binding = query if weights["lexical"] > 0 else None
        asked = [binding, *asked[1:], query_embedding, space]
    return arm_list(run, arm, arm, weights[arm], asked)

lists = search_lists(in_force, query_embedding is not None, search, done, skip)
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
fused = fuse_lists(
    lists, in_force, depth,
    lambda first, passages: stored.moved_cosines(first, passages, in_force["feedback"]["weight"]),
    stored.ages_days)
ids, points, count = fused["chunk_ids"], fused["points"], len(fused["order"])
keys = list(zip(points, fused["document_ids"], fused["chunk_indexes"]))
places = {"fuse": fused["order"]}
feedback = fused["feedback"]
done("fuse", count, **({"details": {"feedback": feedback}} if feedback else {}))

# --- refine: leave out what repeats a better row or is not good enough, as far as the page needs
cosine_of = next((
    {chunk_id: score for chunk_id, score in zip(ids, scores) if score is not None}
    for of_list, scores in zip(lists, fused["scores"]) if of_list["arm"] == "vector"), {})

def relevance_of(items):
    """Exact cosines, also of the rows that no arm gave one; a zero vector has none."""
    chunk_ids = [ids[item] for item in items]
    cosine_of.update(stored.cosines([one for one in chunk_ids if one not in cosine_of]))
    return list(map(cosine_of.get, chunk_ids))

def start_in(items):
    return page_start([keys[item] for item in items] if after else [], after)

diverse = in_force["mmr"]["lambda"] < 1
needed = max(start_in(fused["order"]), in_force["mmr"]["pool"] if diverse else 0) + wanted
chosen = choose_passages(
    fused, in_force, needed, count if traced == "pool" else needed + 5, stored.texts, relevance_of)
best, places["dedup"] = chosen["good"], chosen["distinct"]
if in_force["dedup"] == "off" and in_force["per_document"] is None:
    skip("dedup", "by the setting dedup")
else:
    kept = len(chosen["distinct"])
    done("dedup", kept, details={
        "looked_at": chosen["looked_at"], "dropped": chosen["looked_at"] - kept})

for stage in ("rerank", "blend"):
    skip(stage, not_run.get("rerank", f"by the mode {in_force['mode']}"))

# --- diversify
if diverse:
    scaled = scale_fused(fused["sums"], fused["attainable"], in_force["fused_scale"])
    best = places["mmr"] = diverse_items(
        best, [scaled[item] for item in best], ids, in_force["mmr"], stored.vectors)
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
relevances = relevance_of(page)
places["page"] = best
done("page", len(page))

trace = None
if traced != "none":
    trace = {
        "stages": stages, "ms": (perf_counter() - started) * 1000, **search_trace(
            page, lists, fused, in_force["rrf_k"], places,
            (cosine_of, chosen["dropped"]) if traced == "pool" else None)}
arms = [candidate_arms(item, lists, fused["ranks"], fused["scores"]) for item in page]
if in_force["fused_scale"] != "attainable":
    for item, of_item in zip(page, arms):
        of_item["fused"] = {"rank": fused["order"].index(item) + 1, "score": fused["sums"][item]}
details = [
    {**of_all, **({"recency": fused["recency"][item]} if fused["recency"] else {}),
     "cursor": dict(zip(("score", "document_id", "chunk_index"), keys[item]))}
    for item in page]
return {
    "chunk_ids": [ids[item] for item in page],
    "ranks": list(range(start + 1, start + 1 + len(page))),
    "scores": [points[item] for item in page],
    "relevances": relevances,
    "arms": list(map(json.dumps, arms)),
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
