// Above the results: an answer, and the same search as SQL, as a call with curl, and in Python.

import { answerButton } from "./answer.js";
import { byId, fill, h } from "./dom.js";
import { asCurl, asPython, asSql } from "./copies.js";

/** Draw the tools for a search that was made. */
export function drawTools(asked, overview) {
  const copies = { SQL: asSql, curl: asCurl, Python: asPython };
  fill(byId("copy"));
  fill(byId("tools"), answerButton(asked, overview), h("span", { class: "label" }, "Copy as"), Object.entries(copies).map(([name, write]) => copier(name, () => write(asked))));
}

function copier(name, write) {
  return h("button", { class: "quiet", type: "button", click: async (event) => {
    const text = write();
    try {
      await navigator.clipboard.writeText(text); // only pages of localhost and of https may
      byId("status").textContent = `${name} copied`;
      event.target.classList.add("done");
      setTimeout(() => event.target.classList.remove("done"), 1500);
    } catch {
      byId("status").textContent = `${name} is shown, to be copied by hand`;
    }
    fill(byId("copy"), h("pre", { class: "copied", tabindex: 0, "aria-label": `The search as ${name}` }, text));
  } }, name);
}
