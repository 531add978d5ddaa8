// Why a document is not among the results: the search followed through its stages.

import { fill, h } from "./dom.js";
import { post } from "./session.js";

const MARKS = new Map([[true, "✓"], [false, "✗"], [null, "·"]]);

/** Return a form that asks after a document that was expected. */
export function diagnoseForm(asked) {
  const told = h("div", { class: "told", role: "status" });
  const input = h("input", { type: "text", required: true, placeholder: "its key, URI or id", "aria-label": "Document" });
  const form = h("form", { class: "ask-after", submit: (event) => {
    event.preventDefault();
    follow(told, asked, input.value.trim());
  } }, input, h("button", { class: "quiet", type: "submit" }, "Follow it"));
  return h("details", { class: "more why" }, h("summary", {}, "Why is a document not here?"), form, told);
}

async function follow(told, asked, wanted) {
  fill(told, h("p", { class: "small" }, "Following it …"));
  try {
    const found = await post("/v1/diagnose", { ...asked, document: wanted });
    fill(told, h("p", { class: "verdict", dir: "auto" }, found.verdict), found.suggestion && h("p", { dir: "auto" }, found.suggestion),
      h("ol", { class: "stages" }, found.stages.map((stage) => h("li", { class: stage.passed === false ? "lost" : null },
        h("b", {}, MARKS.get(stage.passed)), h("span", {}, stage.stage.replaceAll("_", " ")), h("span", { dir: "auto" }, stage.finding)))));
  } catch (error) {
    fill(told, h("p", {}, error.message), error.hint && h("p", { class: "small" }, error.hint));
  }
}
