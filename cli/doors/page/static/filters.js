// Facets of what was found, to filter by with a click, and dates.

import { byId, fill, h } from "./dom.js";
import { body, filterWithout, isChosen, search, toggle } from "./request.js";
import { post } from "./session.js";
import { valueText } from "./words.js";

const BUILT_IN = ["$collection", "$language"];
const NAMES = { $collection: "Collection", $language: "Language" };
const MOST_KEYS = 3; // of metadata
const MOST_VALUES = 8;

/** Count values over all that was found; `changed` is called when one is chosen. */
export async function drawFilters(results, signal, changed) {
  const keys = [...new Set([...BUILT_IN, ...search.chosen.keys(), ...metadataKeys(results)])];
  const chosen = keys.filter((key) => search.chosen.has(key));
  const rest = keys.filter((key) => !search.chosen.has(key));
  // A key of which something is chosen is counted without that, so that more can be chosen.
  const counted = await Promise.all([
    post("/v1/facets", facets(rest, filterWithout(null)), signal),
    ...chosen.map((key) => post("/v1/facets", facets([key], filterWithout(key)), signal)),
  ]);
  const rows = counted.flatMap((answer) => answer.facets);
  fill(byId("filters"), dates(changed), keys.map((key) => drawKey(key, rows.filter((row) => row.key === key), changed)));
}

function facets(keys, filter) {
  const { filter: _, ...asked } = body({ limit: MOST_VALUES });
  return { ...asked, keys, ...(filter && { filter }) };
}

/** Return the keys of metadata that most documents have, with short values that some share. */
function metadataKeys(results) {
  const documents = new Map(results.map((row) => [row.document_id, row.metadata]));
  const values = new Map();
  for (const metadata of documents.values()) {
    for (const [key, value] of Object.entries(metadata)) {
      const list = Array.isArray(value) ? value : [value];
      if (list.length && list.every(isShort)) values.set(key, [...(values.get(key) ?? []), ...list]);
    }
  }
  const shared = [...values].filter(([, list]) => new Set(list).size < list.length || list.length < 3);
  return shared.sort((one, other) => other[1].length - one[1].length).slice(0, MOST_KEYS).map(([key]) => key);
}

const isShort = (value) => ["string", "number", "boolean"].includes(typeof value) && String(value).length <= 40;

function drawKey(key, rows, changed) {
  const worth = rows.length > 1 || search.chosen.has(key);
  if (!worth) return null;
  const most = Math.max(...rows.map((row) => row.count), 1);
  return h("fieldset", { class: "facet" }, h("legend", {}, NAMES[key] ?? key),
    rows.map((row) => drawValue(key, row, most, changed)));
}

function drawValue(key, row, most, changed) {
  const box = h("input", { type: "checkbox", checked: isChosen(key, row.value), change: () => {
    toggle(key, row.value);
    changed("changed");
  } });
  return h("label", { "--share": `${(100 * row.count) / most}%` }, box,
    h("span", { dir: "auto" }, valueText(row.value)), h("b", { title: row.count_estimate > row.count && `about ${row.count_estimate} in all` }, String(row.count)));
}

function dates(changed) {
  const input = (name, label) => h("label", { class: "date" }, label, h("input", { type: "date", value: search[name], change: (event) => {
    search[name] = event.target.value;
    changed("changed");
  } }));
  return h("fieldset", { class: "facet dates" }, h("legend", {}, "Date"), input("since", "from"), input("until", "to"));
}
