// A document beside the results, open at a passage.

import { fill, h, isCalm } from "./dom.js";
import { get, post } from "./session.js";
import { isCode, markdownReader, oneLine, place, title } from "./words.js";

const dialog = h("dialog", { class: "drawer", "aria-label": "Document" });
document.body.append(dialog);
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

/** Show a document, at the chunk `chunk_id` or the lines from `start_line` to `end_line`; `quote`, or what was searched for, is marked. */
export async function openDocument(id, at) {
  noteOpened(at);
  fill(dialog, head(title(at), ""), h("p", { class: "small" }, "Loading …"));
  if (!dialog.open) dialog.showModal();
  try {
    const { document: shown, chunks } = await get(`/v1/documents/${id}`);
    const hits = hitsOf(at);
    const read = isCode(shown) ? (text) => text : markdownReader();
    const text = chunks.map((chunk) => drawChunk(chunk, isAt(chunk, at), at.quote, hits, read));
    const body = h("div", { class: "text", dir: "auto" }, text);
    fill(dialog, head(title(shown), place(shown), steps(body)), facts(shown), body);
    dialog.querySelector(".chunk.here mark, .chunk.here")?.scrollIntoView({ block: "start", behavior: isCalm() ? "auto" : "smooth" });
  } catch (error) {
    fill(dialog, head(title(at), ""), h("p", {}, error.message));
  }
}

/** Tell experiments that a row of a logged search was opened; the document shows in any case. */
function noteOpened({ chunk_id, details }) {
  if (details?.search_id) post("/v1/click", { search_id: details.search_id, chunk_id }).catch(() => {});
}

function head(name, where, ...tools) {
  return h("header", {},
    h("div", { class: "who" }, h("h2", { dir: "auto" }, name), h("bdi", { class: "where" }, where)),
    tools,
    h("button", { class: "quiet", type: "button", autofocus: true, click: () => dialog.close() }, "Close"));
}

function facts(shown) {
  const pairs = Object.entries({ language: shown.language, modified: shown.modified_at?.slice(0, 10), ...shown.metadata });
  return h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, typeof value === "string" ? value : JSON.stringify(value)))));
}

function isAt(chunk, at) {
  if (at.chunk_id) return chunk.chunk_id === at.chunk_id;
  return at.start_line && chunk.start_line <= at.end_line && (chunk.end_line ?? chunk.start_line) >= at.start_line;
}

/** Write a chunk without the overlap with the one before it, as `read` makes it readable. */
function drawChunk(chunk, isHere, quote, hits, read) {
  const text = read([...chunk.content].slice(chunk.own_start).join(""));
  const lines = chunk.start_line === null ? "" : `${chunk.start_line}`;
  const quotes = isHere && quote ? [quote, markdownReader()(quote)].map(quoted) : [];
  const sought = quotes.find((each) => each?.test(text)) ?? hits;
  return h("div", { class: isHere ? "chunk here" : "chunk" },
    h("span", { class: "line" }, lines),
    h("div", {}, chunk.heading && h("p", { class: "where" }, oneLine(chunk.heading)), h("p", { class: "words" }, marked(text, sought))));
}

/** Return what finds a quote, however its spaces were written. */
function quoted(quote) {
  const words = quote?.split(/\s+/).filter(Boolean) ?? [];
  return words.length ? new RegExp(words.map(escaped).join("\\s+"), "u") : null;
}

/** Return what finds the words that the search found rows by; those of the query where none are marked. */
function hitsOf({ query }) {
  const found = [...document.querySelectorAll(".rows .snippet mark")].map((mark) => mark.textContent);
  const asked = query?.match(/[\p{L}\p{N}]{4,}/gu) ?? [];
  const words = [...new Set((found.length ? found : asked).map((word) => word.toLowerCase()))].filter(Boolean);
  if (!words.length) return null;
  const edges = (word) => (/[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]/.test(word) ? escaped(word) : `(?<![\\p{L}\\p{N}])${escaped(word)}(?![\\p{L}\\p{N}])`);
  return new RegExp(words.sort((one, other) => other.length - one.length).map(edges).join("|"), "giu");
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replace(/\s+/g, "\\s+");

/** Mark what is sought in a text: a quote once, words wherever they stand. */
function marked(text, sought) {
  if (!sought) return text;
  const found = sought.global ? [...text.matchAll(sought)] : [sought.exec(text)].filter(Boolean);
  const pieces = [];
  let end = 0;
  for (const { 0: words, index } of found) {
    pieces.push(text.slice(end, index), h("mark", {}, words));
    end = index + words.length;
  }
  return [...pieces, text.slice(end)];
}

/** Return buttons that go from one marked word to the next; nothing where none is marked. */
function steps(body) {
  const marks = [...body.querySelectorAll("mark")];
  if (!marks.length) return null;
  let at = marks.findIndex((mark) => mark.closest(".here"));
  const count = h("span", { class: "small", role: "status" }, `${Math.max(at, 0) + 1} of ${marks.length}`);
  const step = (by) => {
    marks[at]?.classList.remove("now");
    at = (Math.max(at, 0) + by + marks.length) % marks.length;
    marks[at].classList.add("now");
    marks[at].scrollIntoView({ block: "center", behavior: isCalm() ? "auto" : "smooth" });
    fill(count, `${at + 1} of ${marks.length}`);
  };
  const button = (label, sign, by) => h("button", { class: "quiet", type: "button", "aria-label": label, title: label, click: () => step(by) }, sign);
  return h("span", { class: "steps" }, count, button("Hit before", "↑", -1), button("Next hit", "↓", 1));
}
