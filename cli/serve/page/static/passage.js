// A document beside the results, open at a passage.

import { fill, h, isCalm } from "./dom.js";
import { get, post } from "./session.js";
import { oneLine, place, title } from "./words.js";

const dialog = h("dialog", { class: "drawer", "aria-label": "Document" });
document.body.append(dialog);
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

/** Show a document, at the chunk `chunk_id` or the lines from `start_line` to `end_line`; `quote` is marked. */
export async function openDocument(id, at) {
  noteOpened(at);
  fill(dialog, head(title(at), ""), h("p", { class: "small" }, "Loading …"));
  if (!dialog.open) dialog.showModal();
  try {
    const { document: shown, chunks } = await get(`/v1/documents/${id}`);
    const text = chunks.map((chunk) => drawChunk(chunk, isAt(chunk, at), at.quote));
    fill(dialog, head(title(shown), place(shown)), facts(shown), h("div", { class: "text", dir: "auto" }, text));
    dialog.querySelector(".chunk.here mark, .chunk.here")?.scrollIntoView({ block: "start", behavior: isCalm() ? "auto" : "smooth" });
  } catch (error) {
    fill(dialog, head(title(at), ""), h("p", {}, error.message));
  }
}

/** Tell experiments that a row of a logged search was opened; the document shows in any case. */
function noteOpened({ chunk_id, details }) {
  if (details?.search_id) post("/v1/click", { search_id: details.search_id, chunk_id }).catch(() => {});
}

function head(name, where) {
  return h("header", {},
    h("div", { class: "who" }, h("h2", { dir: "auto" }, name), h("bdi", { class: "where" }, where)),
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

/** Write a chunk without the overlap with the one before it. */
function drawChunk(chunk, isHere, quote) {
  const text = [...chunk.content].slice(chunk.own_start).join("");
  const lines = chunk.start_line === null ? "" : `${chunk.start_line}`;
  return h("div", { class: isHere ? "chunk here" : "chunk" },
    h("span", { class: "line" }, lines),
    h("div", {}, chunk.heading && h("p", { class: "where" }, oneLine(chunk.heading)), h("p", { class: "words" }, isHere ? marked(text, quote) : text)));
}

/** Mark a quote in a text, however its spaces were written. */
function marked(text, quote) {
  const words = quote?.split(/\s+/).filter(Boolean) ?? [];
  if (!words.length) return text;
  const found = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+")).exec(text);
  if (!found) return text;
  return [text.slice(0, found.index), h("mark", {}, found[0]), text.slice(found.index + found[0].length)];
}
