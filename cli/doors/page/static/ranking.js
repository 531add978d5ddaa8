// How results are ranked: a profile, another beside it, and weights by hand.

import { byId, fill, h } from "./dom.js";
import { search } from "./request.js";
import { tuning } from "./tuning.js";

/** Draw what the ranking is chosen with; `changed` is called when it is. */
export function drawRanking(overview, changed) {
  const weights = tuning(overview, changed);
  const hint = h("p", { class: "small" });
  const own = search.profile ?? overview.profile;
  const choose = (value) => {
    search.profile = value === overview.profile ? null : value;
    search.weights = {};
    hint.textContent = describe(overview, value);
    weights.ask();
    changed("changed");
  };
  const beside = (value) => {
    search.other = value || null;
    changed("changed");
  };
  hint.textContent = describe(overview, own);
  const names = overview.profiles.map(({ name }) => name);
  fill(byId("ranking"), select("Profile", names, own, choose), hint,
    select("Beside it", ["", ...names], search.other ?? "", beside), weights.element);
}

const describe = (overview, name) => overview.profiles.find((one) => one.name === name)?.description ?? "";

function select(label, names, chosen, choose) {
  return h("label", { class: "field" }, label, h("select", { change: (event) => choose(event.target.value) },
    names.map((name) => h("option", { value: name, selected: name === chosen }, name || "nothing"))));
}
