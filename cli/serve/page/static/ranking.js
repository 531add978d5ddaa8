// How results are ranked: the profile.

import { byId, fill, h } from "./dom.js";
import { search } from "./request.js";

/** Draw what the ranking is chosen with; `changed` is called when it is. */
export function drawRanking(overview, changed) {
  fill(byId("ranking"), profiles(overview, changed));
}

function profiles(overview, changed) {
  const hint = h("p", { class: "small" });
  const tell = () => {
    hint.textContent = overview.profiles.find((one) => one.name === (search.profile ?? overview.profile))?.description ?? "";
  };
  const select = h("select", { change: () => {
    search.profile = select.value === overview.profile ? null : select.value;
    tell();
    changed();
  } }, overview.profiles.map(({ name }) => h("option", { value: name, selected: name === (search.profile ?? overview.profile) }, name)));
  tell();
  return [h("label", { class: "field" }, "Profile", select), hint];
}
