// An answer from the passages: each sentence comes once it is checked, each citation opens its place.

import { byId, fill, h } from "./dom.js";
import { openDocument } from "./passage.js";
import { events, hasScope, Refused } from "./session.js";
import { oneLine, title } from "./words.js";

/** Return a button that asks the answer model; nothing where there is none, or no right to it. */
export function answerButton(asked, overview) {
  if (!overview.answer_model || !hasScope("ask")) return null;
  return h("button", { class: "quiet", type: "button", click: () => answer(asked, overview) }, "Answer");
}

/** Take away the answer to another question. */
export const clearAnswer = () => fill(byId("answer"));

async function answer(asked, overview) {
  const place = byId("answer");
  const said = h("p", { class: "said", dir: "auto" });
  const reading = h("p", { class: "small" }, "Reading the passages …");
  const growing = h("section", { class: "answer", "aria-label": "Answer", "aria-busy": "true", "aria-live": "polite" }, said, reading);
  fill(place, growing);
  let shown = growing;
  try {
    for await (const { text, document, problem } of events("/page/answer", asked)) {
      if (place.firstChild !== growing) return; // another question was asked meanwhile
      if (problem) throw new Refused(problem);
      if (text) said.append(text);
      if (document) shown = drawAnswer(document, asked, overview);
    }
  } catch (error) {
    shown = h("section", { class: "degraded" }, h("h2", {}, error.message), said.textContent && said);
  }
  if (place.firstChild === growing) fill(place, shown);
}

function drawAnswer({ answer: said, citations, questions = [], checks, degraded }, asked, overview) {
  const section = h("section", { class: "answer", "aria-label": "Answer" },
    asked.history && h("p", { class: "small", dir: "auto" }, asked.query));
  const failed = degraded.find((note) => note.startsWith("answer: "));
  if (said) {
    const byNumber = new Map(citations.map((one) => [one.citation, one]));
    section.append(h("p", { class: "said", dir: "auto" }, linked(said, byNumber)));
  } else {
    section.append(h("p", { class: "said" }, failed ?? "The passages do not answer this."));
  }
  for (const { question, hasEvidence } of questions) {
    if (!hasEvidence) section.append(h("p", { class: "small", dir: "auto" }, `No evidence was found for: ${question}`));
  }
  if (said) section.append(h("ol", { class: "sources" }, citations.filter((one) => one.isCited).map(source)));
  const dropped = checks?.sentences.filter((one) => !one.kept) ?? [];
  if (dropped.length) section.append(leftOut(dropped));
  if (!failed && overview.expansion_model) section.append(furtherQuestion(asked, said ?? "No answer.", overview));
  return section;
}

/** Tell which sentences no passage bears out, and why. */
const leftOut = (sentences) => h("details", { class: "more left-out" },
  h("summary", {}, `Left out: ${sentences.length} ${sentences.length === 1 ? "sentence" : "sentences"} without support`),
  h("ul", {}, sentences.map((one) => h("li", { dir: "auto" }, h("span", {}, one.text), " ", h("b", {}, one.reason)))));

/** Return a form for a question that goes on from this one: a model reads it with what was said before. */
function furtherQuestion(asked, said, overview) {
  const before = [...(asked.history ?? []), { role: "user", content: asked.query }, { role: "assistant", content: said }];
  const history = before.slice(-20).map(({ role, content }) => ({ role, content: content.slice(0, 4000) }));
  const input = h("input", { type: "text", maxlength: 4000, required: true, dir: "auto", placeholder: "Ask further", "aria-label": "Further question" });
  const submit = (event) => {
    event.preventDefault();
    answer({ ...asked, query: input.value, history }, overview);
  };
  return h("form", { class: "ask-after", submit }, input);
}

/** Return a text's pieces, with a button for each [number] that is a citation. */
function linked(said, byNumber) {
  return said.split(/(\[\d+\])/).map((piece) => {
    const cited = byNumber.get(Number(/^\[(\d+)\]$/.exec(piece)?.[1]));
    return cited ? opener(cited) : piece;
  });
}

function opener(cited) {
  const [first, last] = cited.quoteLines ?? [cited.startLine, cited.endLine];
  const at = { ...cited, start_line: first, end_line: last ?? first, quote: cited.quote };
  return h("button", { class: "cite", type: "button", "aria-label": `Open source ${cited.citation}: ${title(cited)}`,
    click: () => openDocument(cited.document_id, at) }, String(cited.citation));
}

const source = (cited) => h("li", {}, opener(cited),
  h("span", { dir: "auto" }, h("b", {}, title(cited)), cited.quote && h("q", {}, oneLine(cited.quote))));
