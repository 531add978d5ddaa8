// The results: one row each, which glides to its new place when a search changes.

import { byId, fill, h, isCalm } from "./dom.js";
import { showExplanation } from "./explanation.js";
import { openGraph } from "./graph.js";
import { openDocument } from "./passage.js";
import { thumbs } from "./thumbs.js";
import { figure, hue, isCode, oneLine, place, snippet, title, withoutMarkdown } from "./words.js";

const ARMS = ["lexical", "vector", "fuzzy", "graph", "document"];

/** Show the rows of a search; `asked` is what their explanation asks for. */
export function drawRows(results, asked, context) {
  const before = places();
  const open = byId("results").querySelector(".row.open")?.dataset.chunk;
  if (!results.length) {
    fill(byId("results"), h("p", { class: "empty" }, context.isFinal ? "Nothing was found." : "No passage has these words."));
    return;
  }
  const rows = results.map((row, index) => drawRow(row, hue(index, results.length), asked, context));
  fill(byId("results"), h("ol", { class: "rows" }, rows));
  glide(before);
  // What was open stays open, explained anew.
  if (open && context.isFinal) byId("results").querySelector(`[data-chunk="${CSS.escape(open)}"] .explain`)?.click();
}

/** Add the rows of the next page behind those shown. */
export function addRows(results, asked, context) {
  const rows = results.map((row) => drawRow(row, hue(1, 1), asked, context));
  byId("results").querySelector(".rows").append(...rows);
  rows[0]?.focus();
}

function drawRow(row, color, asked, context) {
  const body = h("div", { class: "body", hidden: true });
  const item = h("li", { class: "row result", "data-chunk": row.chunk_id, "--hue": color, tabindex: -1 });
  const explain = h("button", { class: "quiet explain", type: "button", "aria-expanded": "false",
    click: () => toggleExplanation(item, explain, body, row, asked) }, "Explain");
  const name = h("button", { class: "title", type: "button", dir: "auto", click: () => openDocument(row.document_id, { ...row, query: asked.query }) }, title(row));
  item.append(
    h("div", { class: "head" },
      h("span", { class: "badge" }, String(row.rank)),
      h("div", { class: "who" }, h("h3", {}, name), h("bdi", { class: "where" }, place(row))),
      h("div", { class: "marks" }, h("span", { class: "score", title: "score" }, figure(row.score)), relevance(row))),
    h("p", { class: "snippet", dir: "auto" }, snippet(isCode(row) ? row.snippet : withoutMarkdown(row.snippet))),
    ...(row.details.copies ? [copies(row.details.copies)] : []),
    ...(row.details.answers ? [h("p", { class: "small", dir: "auto" }, `Answers: ${row.details.answers.map(oneLine).join("; ")}`)] : []),
    h("div", { class: "acts" }, arms(row), context.overview.has_graph && h("button", { class: "quiet", type: "button", click: () => openGraph(row, title(row)) }, "Graph"),
      thumbs(row, asked.query, context.overview.may_write), explain),
    body);
  return item;
}

/** Say how relevant a row is, and by what that is told. */
function relevance({ relevance: value, details }) {
  if (value === null || value === undefined) return null;
  const basis = details.relevance_basis;
  const told = basis === "cosine" || basis === "p_value" ? figure(value, 2) : `${Math.round(100 * value)} %`;
  return h("span", { class: "relevance", title: `relevance, by ${String(basis).replace("_", " ")}` }, `relevance ${told}`);
}

/** Name the documents that say the same. */
const copies = (others) => h("details", { class: "more copies" },
  h("summary", {}, others.length === 1 ? "The same text in another document" : `The same text in ${others.length} other documents`),
  h("ul", {}, others.map((one) => h("li", {}, h("button", { class: "title", type: "button", dir: "auto",
    click: () => openDocument(one.document_id, one) }, title(one)), " ", h("bdi", { class: "where" }, place(one))))));

/** Name the arms that found a row, with its rank in each. */
function arms(row) {
  const found = ARMS.filter((arm) => row.arms[arm]);
  return h("ul", { class: "arms", "aria-label": "found by" }, found.map((arm) =>
    h("li", { class: `arm-${arm}` }, arm, " ", h("b", {}, String(row.arms[arm].rank)))),
  Object.entries(row.arms.lexical?.synonyms ?? {}).map(([words, texts]) => h("li", { class: "rule", dir: "auto" }, `${words} as ${texts.join(", ")}`)),
  (row.details.rules ?? []).map((rule) => h("li", { class: "rule", dir: "auto" }, ruleText(rule))));
}

/** Say what a rule of the shop did to a row. */
function ruleText({ pinned, boost, decay, factor }) {
  if (pinned !== undefined) return `pinned for ${oneLine(pinned)}`;
  const by = boost === undefined ? `decay ${decay}` : `boost ${JSON.stringify(boost)}`;
  return `${oneLine(by)} by ${Number(factor.toPrecision(3))}`;
}

async function toggleExplanation(item, button, body, row, asked) {
  const isOpen = item.classList.toggle("open");
  button.setAttribute("aria-expanded", String(isOpen));
  body.hidden = !isOpen;
  if (isOpen && !body.hasChildNodes()) await showExplanation(body, row, asked);
}

function places() {
  const tops = new Map();
  for (const item of document.querySelectorAll(".rows > .row")) tops.set(item.dataset.chunk, item.getBoundingClientRect().top);
  return tops;
}

/** Move each row from where it was; new ones fade in. */
function glide(before) {
  if (isCalm() || !before.size) return;
  for (const item of document.querySelectorAll(".rows > .row")) {
    const top = before.get(item.dataset.chunk);
    const from = top === undefined ? { opacity: 0 } : { transform: `translateY(${top - item.getBoundingClientRect().top}px)` };
    item.animate([from, {}], { duration: 260, easing: "cubic-bezier(.2, .7, .2, 1)" });
  }
}
