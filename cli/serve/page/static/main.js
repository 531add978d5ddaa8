// The page: a box to type into, and what becomes of it.

import { clearAnswer } from "./answer.js";
import { showBeside } from "./compare.js";
import { byId, fill, h } from "./dom.js";
import { diagnoseForm } from "./diagnose.js";
import { drawFilters } from "./filters.js";
import { listenToKeys } from "./keys.js";
import { drawRanking } from "./ranking.js";
import { body, keepInAddress, lexicalBody, readAddress, search } from "./request.js";
import { drawRows } from "./rows.js";
import { Refused, enter, post } from "./session.js";
import { readGrades } from "./thumbs.js";
import { drawTools } from "./tools.js";
import { milliseconds } from "./words.js";

const PAUSE = 220; // milliseconds without a key before models are asked

let running = new AbortController();
let timer = 0;
let overview;

/** Search for the state as it is now: by words at once, with all arms a moment later. */
function run() {
  running.abort();
  running = new AbortController();
  clearTimeout(timer);
  keepInAddress();
  document.title = search.query.trim() ? `${search.query.trim()} · pgblend` : "pgblend";
  byId("columns").classList.toggle("blank", !search.query.trim());
  if (!search.query.trim()) {
    drawBlank();
    return;
  }
  const { signal } = running;
  const isNew = byId("query").dataset.shown !== search.query;
  byId("query").dataset.shown = search.query;
  if (isNew) clearAnswer();
  if (isNew && !search.other) attempt(signal, () => showSearch(lexicalBody(), "words so far", signal));
  timer = setTimeout(() => attempt(signal, () => showWhole(signal)), isNew ? PAUSE : 0);
}

/** Before anything is typed: where a search looks. */
function drawBlank() {
  for (const id of ["facts", "missing", "below", "answer"]) fill(byId(id));
  const names = overview.collections;
  fill(byId("results"), h("p", { class: "lead" },
    names.length ? ["Searches ", names.map((name, place) => [place ? ", " : "", h("b", { dir: "auto" }, name)]), "."] : "There is no collection yet that you may read."));
}

async function showSearch(asked, kind, signal) {
  const start = performance.now();
  const found = await post("/v1/search", asked, signal);
  showFacts(found, kind, performance.now() - start);
  drawRows(found.results, asked, { overview, isFinal: kind === "hybrid" });
  return found;
}

async function showWhole(signal) {
  const asked = body();
  const found = search.other ? await showTwo(signal) : await showSearch(asked, "hybrid", signal);
  fill(byId("missing"), missing(found.degraded));
  const excluded = found.results[0]?.details.excluded ?? [];
  byId("status").textContent = `${found.results.length} results` + (excluded.length ? `, none with: ${excluded.join(", ")}` : "");
  drawTools(asked, overview);
  fill(byId("below"), diagnoseForm(asked));
  await Promise.all([drawFilters(found.results, signal, run), readGrades(asked.query, signal)]);
}

/** Show two profiles side by side; filters and the rest go with the first. */
async function showTwo(signal) {
  const start = performance.now();
  const found = await showBeside(search.profile ?? overview.profile, search.other, signal);
  showFacts(found, "hybrid, twice", performance.now() - start);
  return found;
}

function showFacts(found, kind, time) {
  const facts = [
    ["results", found.results.length],
    ["time", milliseconds(time)],
    ["mode", kind],
    ["profile", search.profile ?? overview.profile],
  ];
  fill(byId("facts"), facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, String(value)))));
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
    run();
  });
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
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
  readAddress();
  query.value = search.query;
  drawRanking(overview, run);
  query.focus();
  run();
}

attempt(null, begin);
