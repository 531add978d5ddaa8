// The page: a box to type into, and what becomes of it.

import { clearAnswer } from "./answer.js";
import { showBeside } from "./compare.js";
import { byId, fill, h } from "./dom.js";
import { diagnoseForm } from "./diagnose.js";
import { drawFilters } from "./filters.js";
import { listenToKeys } from "./keys.js";
import { drawRanking } from "./ranking.js";
import { body, clearFilters, isFiltered, keepInAddress, lexicalBody, readAddress, search, settle, typed, wasEntered } from "./request.js";
import { addRows, drawRows } from "./rows.js";
import { Refused, enter, post } from "./session.js";
import { readGrades } from "./thumbs.js";
import { drawTools } from "./tools.js";
import { milliseconds } from "./words.js";

const PAUSE = 220; // milliseconds without a key before vectors are asked
const LINKS_WITHIN = ["#results"];

let running = new AbortController();
let timer = 0;
let overview;
let isEntered = false; // whether all models are asked for the words as they are

/**
 * Search for the state as it is now.
 *
 * `how` is what happened: "typed" (a key: by words at once, by vectors a moment later), "entered",
 * "changed" (a filter or a profile), "adjusted" (a weight), or "read" (from the address).
 */
function run(how) {
  running.abort();
  running = new AbortController();
  clearTimeout(timer);
  if (how === "typed") isEntered = false;
  if (how === "entered") isEntered = true;
  if (how !== "read") keepInAddress(how === "entered" ? "typed" : how);
  document.title = search.query.trim() ? `${search.query.trim()} · pgblend` : "pgblend";
  byId("columns").classList.toggle("blank", !search.query.trim());
  byId("query").dataset.shown ??= "";
  const isNew = byId("query").dataset.shown !== search.query;
  byId("query").dataset.shown = search.query;
  if (!search.query.trim()) {
    drawBlank();
    return;
  }
  const { signal } = running;
  const words = new AbortController(); // a late answer by words must not go over the whole one
  const byWords = AbortSignal.any([signal, words.signal]);
  if (isNew) clearAnswer();
  const waits = how === "typed" && isNew;
  if (waits && !search.other) attempt(byWords, () => showSearch(lexicalBody(), byWords, false));
  timer = setTimeout(() => attempt(signal, () => showWhole(signal, words)), waits ? PAUSE : 0);
}

/** Before anything is typed: where a search looks. */
function drawBlank() {
  for (const id of ["facts", "missing", "below", "answer"]) fill(byId(id));
  const names = overview.collections;
  fill(byId("results"), h("p", { class: "lead" },
    names.length ? ["Searches ", names.map((name, place) => [place ? ", " : "", h("b", { dir: "auto" }, name)]), "."] : "There is no collection yet that you may read."));
}

/** Search and show the rows; `isWhole`: by all arms. */
async function showSearch(asked, signal, isWhole) {
  const start = performance.now();
  const found = await post("/v1/search", { ...sent(asked), facts: true }, signal);
  showFacts(found, modeOf(found.facts, isWhole), performance.now() - start);
  drawRows(found.results, asked, { overview, isFinal: isWhole });
  return found;
}

/** Return what is sent for a search: while somebody types, it says so. */
const sent = (asked) => (isEntered ? asked : typed(asked));

async function showWhole(signal, words) {
  const asked = body();
  const found = search.other ? await showTwo(signal) : await showSearch(asked, signal, true);
  words.abort();
  settle(isEntered);
  fill(byId("missing"), missing(found.degraded));
  const excluded = found.facts?.excluded ?? found.results[0]?.details.excluded ?? [];
  byId("status").textContent = `${found.results.length} results` + (excluded.length ? `, none with: ${excluded.join(", ")}` : "");
  drawTools(asked, overview);
  fill(byId("below"), found.results.length ? moreButton(found, asked) : search.other ? null : help(found), diagnoseForm(asked));
  await Promise.all([drawFilters(found.results, signal, run), readGrades(asked.query, signal)]);
}

/** Show two profiles side by side; filters and the rest go with the first. */
async function showTwo(signal) {
  const start = performance.now();
  const found = await showBeside(search.profile ?? overview.profile, search.other, sent, signal);
  showFacts(found, "hybrid, twice", performance.now() - start);
  return found;
}

/** Say what took part, and the mode in force. */
function modeOf({ meta, mode }, isWhole) {
  if (!isWhole) return "words so far";
  const arms = meta?.mode === "hybrid" ? "hybrid" : "words alone";
  const models = [meta?.expanded && "expanded", meta?.reranked && "reranked"].filter(Boolean);
  const waits = !isEntered && overview.asks_models ? "Enter asks the models" : mode;
  return [arms, ...models, waits].filter(Boolean).join(", ");
}

/** Return a button for the rows after those shown; nothing where there are no more. */
function moreButton(first, asked) {
  const total = first.facts?.candidates;
  let shown = first.results.length;
  let last = first.results.at(-1);
  if (search.other || first.results.length < search.limit || (total && shown >= total)) return null;
  const button = h("button", { class: "quiet more-rows", type: "button", click: () => attempt(running.signal, async () => {
    button.disabled = true;
    const next = { ...asked, options: { ...asked.options, after: last.details.cursor } };
    const found = await post("/v1/search", sent(next), running.signal);
    addRows(found.results, next, { overview });
    shown += found.results.length;
    last = found.results.at(-1) ?? last;
    showCount(shown, total);
    byId("status").textContent = `${shown} results`;
    button.disabled = false;
    if (found.results.length < search.limit || (total && shown >= total)) button.remove();
    await readGrades(asked.query, running.signal);
  }) }, "More");
  return h("div", { class: "after-rows" }, button);
}

/** Say what may help where nothing was found. */
function help({ degraded, facts }) {
  const plain = search.query.replace(/["“”„«»]|(^|\s)[-+](?=\S)|\b(?:AND|OR|NOT)\b/g, "$1").replace(/\s+/g, " ").trim();
  const again = (label, change) => h("li", {}, h("button", { class: "quiet", type: "button", click: () => {
    change();
    byId("query").value = search.query;
    run("changed");
  } }, label));
  const lacks = facts?.meta?.mode !== "hybrid" && degraded.some((note) => note.startsWith("vector:"));
  const excluded = facts?.excluded ?? [];
  return h("section", { class: "help", "aria-label": "What may help" }, h("ul", {},
    excluded.length > 0 && h("li", { dir: "auto" }, `Passages with ${excluded.join(", ")} are left out: a minus sign before a word excludes it.`),
    isFiltered() && again("Search without the filters", clearFilters),
    plain !== "" && plain !== search.query.trim() && again(`Search for ${plain}`, () => { search.query = plain; }),
    search.profile !== null && again(`Search with the profile ${overview.profile}`, () => { search.profile = null; drawRanking(overview, run); }),
    Object.keys(search.weights).length > 0 && again("Search with the profile’s own weights", () => { search.weights = {}; }),
    lacks && h("li", {}, "Only words were searched. Words that mean the same are found by vectors: a model and a worker must run."),
    h("li", {}, "Try other words, or fewer of them."),
    h("li", { dir: "auto" }, `Searched: ${overview.collections.join(", ") || "no collection that you may read"}.`)));
}

function showFacts(found, mode, time) {
  const facts = [
    ["results", ""],
    ["time", milliseconds(time)],
    ["mode", mode],
    ["profile", search.profile ?? overview.profile],
  ];
  fill(byId("facts"), facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto", "data-fact": name }, String(value)))));
  showCount(found.results.length, found.facts?.candidates);
}

/** Say how many rows are shown, of how many that were found. */
function showCount(shown, total) {
  fill(byId("facts").querySelector("[data-fact=results]"), total > shown ? `${shown} of ${total}` : String(shown));
}

function missing(notes) {
  if (!notes.length) return null;
  return h("section", { class: "degraded", "aria-label": "What this search did without" },
    h("h2", {}, "What this search did without"),
    h("ul", {}, notes.map((note) => h("li", { dir: "auto" }, note))));
}

/** Do something and show what went wrong with it; what was given up is no error. */
async function attempt(signal, work) {
  try {
    await work();
    fill(byId("notice"));
  } catch (error) {
    if (!signal?.aborted) tell(error);
  }
}

function tell(error) {
  const hint = error instanceof Refused ? error.hint : "Is pgblend serve still running?";
  fill(byId("notice"), h("section", { class: "degraded" },
    h("h2", {}, error.message), hint && h("p", {}, hint)));
}

async function begin() {
  const query = byId("query");
  query.addEventListener("input", () => {
    search.query = query.value;
    run("typed");
  });
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    run("entered");
    byId("results").focus();
  });
  listenToKeys();
  if (!(await enter())) {
    throw new Refused({
      detail: "This browser has no right to search here yet.",
      hint: "Open the link that `pgblend open` prints, or `pgblend serve link --role ROLE`.",
    });
  }
  overview = await post("/page/overview", {});
  if (matchMedia("(max-width: 700px)").matches) {
    for (const fold of document.querySelectorAll(".fold")) fold.open = false;
  }
  byId("role").textContent = overview.role;
  query.disabled = false;
  show();
  addEventListener("popstate", () => LINKS_WITHIN.includes(location.hash) || show());
  query.focus();
}

/** Search for what the address says: at the beginning, and after Back. */
function show() {
  readAddress();
  byId("query").value = search.query;
  drawRanking(overview, run);
  isEntered = wasEntered();
  run("read");
}

attempt(null, begin);
