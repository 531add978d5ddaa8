-- _rank_passages: places, scores, arms and snippets of one page: all arms, fused, cut to the page.
-- The order of all candidates depends on the settings alone, never on result_limit or offset. An
-- arm of weight 0 does not run, nor the vector arm without a query vector, nor the fuzzy arm by the
-- setting fuzzy (off, or auto with the words' arm not running). score is what fusion gave, divided
-- by what a passage first in every list would get; of a single list it is that arm's own: BM25 over
-- what no passage can reach, or (1 + cosine) / 2. With recency_half_life_days it is times what the
-- document's age leaves (recency in details). relevance is the exact cosine, NULL without a query
-- vector. details have copies: the other documents among the candidates with a row's very text,
-- where dedup leaves them out. `trace` says what each stage did: with `traced` page also how each
-- row of the page came to its place, with pool each candidate; with none it is NULL. Where words
-- count, phrases and exclusions bind the vectors too. With a weight of the setting graph, what the
-- graph leads to from the first of these is one more list, and details have source and depth. Ties
-- go by (document, chunk index).
CREATE OR REPLACE FUNCTION pgblend._rank_passages(
    query text,
    result_limit integer,
    query_embedding vector,
    space text,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb,
    started_at double precision,
    traced text,
    OUT chunk_ids bigint[],
    OUT ranks integer[],
    OUT scores double precision[],
    OUT relevances double precision[],
    OUT snippets text[],
    OUT arms jsonb,
    OUT details jsonb,
    OUT candidate_count integer,
    OUT degraded text[],
    OUT trace jsonb
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $python$
import json
import re
from time import monotonic, perf_counter, time
from pgblend.plpy.fusion.lists import documents_once, fuse_lists
from pgblend.plpy.fusion.scores import scale_fused
from pgblend.plpy.graph.fuse import graph_stage
from pgblend.plpy.models.embedding import checked_vectors
from pgblend.plpy.models.rerank import rerank_stage
from pgblend.plpy.models.stages import model_stages
from pgblend.plpy.refine.choose import choose_passages
from pgblend.plpy.refine.diversity import diverse_items
from pgblend.plpy.search.arms import arm_depth, arm_list, candidate_arms
from pgblend.plpy.search.lists import corrected_query, gathered_lists
from pgblend.plpy.search.page import copies_on_page, page_start
from pgblend.plpy.search.passages import stored_passages
from pgblend.plpy.search.settings import arm_settings, parsed_settings
from pgblend.plpy.search.trace import search_trace, stage_log
from pgblend.plpy.session import error_state, keep_value, prepared_statements
from pgblend.plpy.text.snippets import page_snippets

MOST_NOTED = 50
began = monotonic()
# The first search of a session imports and compiles; its stages begin after that.
stages, done, skip, warm = stage_log(
    perf_counter, perf_counter() + started_at - time(), "statements" not in SD)
run = prepared_statements(plpy.prepare, SD.setdefault("statements", {}))
parsed, of_arms = parsed_settings(SD.setdefault("settings", {}), settings)
in_force = parsed | {"space": space, "traced": traced != "none" and traced}
weights, not_run, after = in_force["weights"], in_force["not_run"], in_force["after"]
if after and not after.keys() >= {"score", "document_id", "chunk_index"}:
    plpy.error(
        f"options: \"after\" is {json.dumps(after)}: expected score, document_id and chunk_index",
        sqlstate="22023", hint="Take details -> 'cursor' of the last row of the page before.")
wanted = in_force["offset"] + result_limit
reranks = in_force["stages"]["rerank"]
depth_of_variants, depth = (
    arm_depth(in_force["over_fetch"], in_force["candidate_depth"], wanted, reranks, is_variant)
    for is_variant in (True, False))
deadline = monotonic() + started_at - time() + in_force["timeouts_ms"]["total"] / 1000
degraded = []

def degrade(stage, outcome):
    """Name what the search goes on without; where a row needs the vector, or by strict, fail."""
    problem, hint = outcome["problem"], outcome["hint"]
    if stage == "vector" and (
            in_force["only_arm"] == "vector" or in_force["graph"].get("combine") == "sum"):
        plpy.error(
            f"VECTORS_UNAVAILABLE: {problem}", sqlstate="PB008",
            hint=f"{hint}\nlexical_search needs no vectors.")
    degraded.extend(run(
        "SELECT pgblend._degrade($1, $2, 'PB008', $3, $4) AS notes", ["text"] * 3 + ["jsonb"],
        stage, problem, hint, settings)[0]["notes"])

# --- arms: a list each; models are asked meanwhile
def search(kind, arm, weight, text=None, vector=None):
    asked = arm_settings(of_arms, parsed, depth if kind == arm else depth_of_variants)
    values = [text, collection_ids, filter, asked]
    if kind == "vector":
        binding = query if weights["lexical"] > 0 else None
        values = [binding, *values[1:], vector, space]
    warmed = SD.setdefault("warmed", set())
    handed = {
        "columns": None, "every_word": False, "deadline": deadline,
        "warmed_up": kind not in warmed}
    called_at = monotonic()
    if kind != "vector":
        GD["pgblend_handed"] = handed
    try:
        found = arm_list(run, kind, arm, weight, values, handed)
        return found | {
            "every_word": handed["every_word"] and in_force["language"] is None,
            "named": kind == arm == "lexical" and is_named(text, found["chunk_ids"])}
    except plpy.SPIError as error:
        if arm == "lexical" or error_state(error) != "PB009" or in_force["strict"]:
            raise
        key = "total" if monotonic() > deadline else "lexical"
        degrade("fuzzy" if kind == arm else "expand", {
            "problem": f"the time limit of {arm} is over", "hint": f"Raise timeouts_ms, key {key}."})
        return {
            "arm": arm, "kind": kind, "by_vector": False, "weight": weight, "perfect": None,
            "chunk_ids": [], "document_ids": [], "chunk_indexes": [], "scores": [],
            "corrections": []}
    finally:
        GD.pop("pgblend_handed", None)
        if handed["warmed_up"] and "ready_at" in handed:
            warmed.add(kind)
            warm(handed["ready_at"] - called_at)

def is_named(text, chunk_ids):
    """Whether the first of the chunks is of a document that is called so; a quick look first."""
    if in_force["fusion"] != "convex" or not chunk_ids or not re.search(r"\w[^\w\s]\w|_", text):
        return False
    return run(
        "SELECT pgblend._is_named($1, $2) AS found", ["text", "bigint"],
        text, chunk_ids[0])[0]["found"]

def vectors_of(outcome, count):
    """The vectors in the gateway's answer, where they are there."""
    if "answer" in outcome:
        named = run(
            "SELECT s.name, s.model, s.dimensions FROM pgblend_data.embedding_space AS s"
            " WHERE s.name = $1", ["text"], space)[0]
        vectors = checked_vectors(outcome["answer"], count, named)
        if isinstance(vectors, list):
            return [json.dumps(vector) for vector in vectors]
        outcome = vectors
    degrade("vector", outcome)

tools = {"search": search, "vectors_of": vectors_of, "done": done, "skip": skip, "degrade": degrade}
with model_stages(
        run, GD.setdefault("pgblend_calls", {}), in_force["timeouts_ms"], deadline,
        monotonic) as models:
    try:
        gathered = gathered_lists(query, query_embedding, in_force, models, tools)
    except ValueError as error:
        plpy.error(str(error), sqlstate="22023", hint="expand_query gives the texts.")
lists, vector = gathered["lists"], gathered["vector"]
if vector is not None and not in_force.get("words_found", True):
    degrade("lexical", {
        "problem": "no passage was found by its words",
        "hint": "these rows are the nearest by vectors; the option strict leaves them out"})
stored = stored_passages(run, vector, space)
for of_list in lists:
    if of_list["arm"] == "vector":
        stored.known_cosines.update(zip(of_list["chunk_ids"], of_list["scores"]))

# --- fuse: points in [0, 1]
if in_force["level"] == "document":
    lists = documents_once(lists)
fused = fuse_lists(
    lists, in_force, depth,
    lambda first, passages: stored.moved_cosines(first, passages, in_force["feedback"]["weight"]),
    stored.ages_days)
feedback = fused["feedback"]
done("fuse", len(fused["order"]), **({"details": {"feedback": feedback}} if feedback else {}))
lists, fused, graph_place = graph_stage(
    lists, fused, in_force | {"filter": filter}, stored, collection_ids,
    {"done": done, "skip": skip, "warn": lambda message, hint: plpy.warning(message, hint=hint)})
ids, count = fused["chunk_ids"], len(fused["order"])
places = {"fuse": fused["order"]}

# --- refine: leave out repetitions, rerank, blend, leave out what is not good enough
def relevance_of(items):
    """The reranker's scores, else exact cosines; a zero vector has none."""
    if reranker.scores:
        return reranker.relevances(items)
    chunk_ids = [ids[item] for item in items]
    return list(map(stored.cosines(chunk_ids).get, chunk_ids))

def dedup_done(kept):
    if in_force["dedup"] == "off" and in_force["per_document"] is None:
        skip("dedup", "by the setting dedup")
    else:
        done("dedup", kept)

def start_in(items, points):
    if not after:
        return 0
    return page_start(
        [(points[item], fused["document_ids"][item], fused["chunk_indexes"][item])
         for item in items], after)

diverse = in_force["mmr"]["lambda"] < 1
needed = wanted + max(
    start_in(fused["order"], fused["points"]), in_force["mmr"]["pool"] if diverse else 0)
with model_stages(
        run, GD["pgblend_calls"], in_force["timeouts_ms"], deadline,
        monotonic) as models:
    reranker = rerank_stage(query, fused, in_force, models, {
        "texts_of": stored.texts, "before": dedup_done, "done": done, "degrade": degrade})
    chosen = choose_passages(
        fused, in_force, needed, count if traced == "pool" else needed + 5, stored.texts,
        reranker.order, relevance_of)
best, points = chosen["good"], chosen["points"]
kept = len(chosen["distinct"])
if not reranks:
    dedup_done(kept)
    skip("rerank", not_run.get("rerank", in_force["no_rerank"]))
places["dedup"] = chosen["distinct"]
for stage in stages:
    if stage["name"] == "dedup" and "ms" in stage:
        stage.update(rows=kept, details={
            "looked_at": chosen["looked_at"], "dropped": chosen["looked_at"] - kept})
if reranker.scores:
    order = sorted(reranker.scores, key=lambda item: -reranker.scores[item])
    places["rerank"], places["blend"] = order, best
    done("blend", len(best))
else:
    skip("blend", "nothing was reranked")

# --- diversify
if diverse:
    scaled = points if reranker.scores else scale_fused(
        fused["sums"], fused["attainable"], in_force["fused_scale"])
    best = places["mmr"] = diverse_items(
        best, [scaled[item] for item in best], ids, in_force["mmr"], stored.vectors)
    done("mmr", len(best))
else:
    skip("mmr", "lambda is 1")

# --- page
start = start_in(best, points)
if start is None:
    plpy.error(
        "the row of the option after is no longer found", sqlstate="22023",
        hint="Begin again without after, or use offset.")
start += in_force["offset"]
if start + result_limit > depth:
    deciding = "over_fetch" if in_force["over_fetch"].get("factor") else "candidate_depth"
    again = " and begin again without after" if "depth" in after else ""
    plpy.warning(
        f"rows beyond {deciding} ({depth}) are not found: offset {start} + limit"
        f" {result_limit} asks for more", hint=f"Raise the option {deciding}{again}.")
page = best[start:min(start + result_limit, depth)]
relevances = relevance_of(page)
places["page"] = best
done("page", len(page))

def arms_of(items):
    """What each arm, and the reranker, say of items."""
    told = [candidate_arms(item, lists, fused["ranks"]) for item in items]
    for item, of_item in zip(items, told):
        if item in reranker.scores:
            of_item["rerank"] = {
                "rank": places["rerank"].index(item) + 1, "score": reranker.scores[item]}
        if in_force["fused_scale"] != "attainable":
            of_item["fused"] = {
                "rank": fused["order"].index(item) + 1, "score": fused["sums"][item]}
    return told

def note_search():
    """Keep for the log what was searched (_send_report): nobody can write into GD by SQL."""
    ended = monotonic()
    ran = run(
        "SELECT pgblend._asking_role()::text AS role, ARRAY(SELECT left(c.name, 100)"
        " FROM pgblend_data.collection AS c WHERE c.id = ANY($1) ORDER BY c.name LIMIT 50) AS names,"
        " pgblend._milliseconds(statement_timestamp(), clock_timestamp()) AS most_ms",
        ["bigint[]"], collection_ids)[0]
    keep_value(GD.setdefault("pgblend_searched", {}), in_force["search_id"], {
        "role": ran["role"], "query": query, "collections": ran["names"], "ended": ended,
        "ms": (ended - began) * 1000,
        "stages": [  # warm_up depends on started_at, which is the caller's word
            {"name": stage["name"], "ms": max(0, min(stage["ms"], ran["most_ms"])),
             "rows": stage.get("rows")}
            for stage in stages if "skipped" not in stage]}, MOST_NOTED)

trace = None
if traced == "rerank":
    trace = {"passages": [
        {"chunk_id": ids[item], "passage": passage}
        for item, passage in zip(reranker.targets, reranker.passages(reranker.targets))]}
elif traced != "none" or in_force["search_id"]:
    if in_force["search_id"]:
        note_search()
    trace = {"stages": stages, "end_ms": (time() - started_at) * 1000}
if traced in ("page", "pool"):
    trace |= search_trace(
        page, lists, fused, (points, reranker.addends), in_force["rrf_k"], places, arms_of,
        (stored.known_cosines, chosen["dropped"]) if traced == "pool" else None)
of_all = {
    "mode": in_force["mode"], **({"search_id": in_force["search_id"]} if in_force["search_id"]
       else {}), **({"not_run": not_run} if not_run else {}),
    **({"expansion": gathered["expansion"]} if in_force["stages"]["expand"] or "expand" in not_run
       else {}),
    "relevance_basis": "rerank" if reranker.scores else None if vector is None else "cosine"}
chunk_ids, arms = [ids[item] for item in page], arms_of(page)
texts = stored.texts(chunk_ids)
absent = {"content": "", "text_search_config": ""}
shown = [texts.get(chunk_id, absent) for chunk_id in chunk_ids]
copies = [[] for _ in page]
if in_force["dedup"] != "off":
    contents = {chunk_id: text["content"] for chunk_id, text in zip(chunk_ids, shown)}
    copies = copies_on_page(page, fused, contents, stored.holders)
details = [
    {**of_all, **({"recency": fused["recency"][item]} if fused["recency"] else {}),
     **graph_place(ids[item]),
     "cursor": {
         "score": points[item], "document_id": fused["document_ids"][item],
         "chunk_index": fused["chunk_indexes"][item], "depth": in_force["candidate_depth"]},
     **({"copies": of_item} if of_item else {})}
    for item, of_item in zip(page, copies)]
snippets = page_snippets(
    run, [text["content"] for text in shown], [corrected_query(query, one) for one in arms],
    [text["text_search_config"] for text in shown])
return {
    "chunk_ids": chunk_ids,
    "ranks": list(range(start + 1, start + 1 + len(page))),
    "scores": [points[item] for item in page],
    "relevances": relevances,
    "snippets": snippets,
    "arms": json.dumps(arms),
    "details": json.dumps(details),
    "candidate_count": count,
    "degraded": degraded,
    "trace": trace and json.dumps(trace),
}
$python$;

COMMENT ON FUNCTION pgblend._rank_passages(
    text, integer, vector, text, bigint[], jsonb, jsonb, double precision, text
) IS
'The places, scores, arms and snippets of one page of a search: all arms, fused, cut to the page; '
'how many candidates there were, and a trace of the stages.';
