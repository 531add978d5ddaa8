// Two profiles side by side: what one ranks where, and where the other has it.

import { byId, fill, h, svg } from "./dom.js";
import { openDocument } from "./passage.js";
import { body } from "./request.js";
import { post } from "./session.js";
import { figure, hue, title } from "./words.js";

const ROW = 52; // pixels, as --row says to the style
const GAP = 64;

/** Search with two profiles and show both lists, with a line for each passage that both have; `sent` is what becomes of a body. */
export async function showBeside(one, other, sent, signal) {
  const asked = [body({ profile: one }), body({ profile: other, weights: {} })]; // weights by hand are the first one's
  const found = await Promise.all(asked.map((each) => post("/v1/search", sent(each), signal)));
  const lists = found.map((each) => each.results);
  const isSame = (left, right) => left.chunk_id === right.chunk_id;
  const pairs = lists[0].flatMap((row, left) => {
    const right = lists[1].findIndex((each) => isSame(row, each));
    return right < 0 ? [] : [{ left, right, color: hue(left, lists[0].length) }];
  });
  const colors = [new Map(pairs.map((pair) => [pair.left, pair.color])), new Map(pairs.map((pair) => [pair.right, pair.color]))];
  fill(byId("results"), h("div", { class: "beside" },
    list(one, lists[0], colors[0], (row) => change(row, lists[1])), lines(pairs, lists),
    list(other, lists[1], colors[1], (row) => change(row, lists[0]))));
  return { ...found[0], degraded: [...new Set(found.flatMap((each) => each.degraded))] };
}

/** Say where the other list has a row. */
function change(row, others) {
  const other = others.find((each) => each.chunk_id === row.chunk_id);
  return other ? `there ${other.rank}` : "only here";
}

function list(profile, rows, colors, note) {
  return h("section", { "aria-label": profile }, h("h3", { dir: "auto" }, profile),
    rows.length ? h("ol", {}, rows.map((row, place) => h("li", { "--hue": colors.get(place) ?? 0, class: colors.has(place) ? null : "alone" },
      h("span", { class: "badge" }, String(row.rank)),
      h("div", { class: "who" }, h("button", { class: "title", type: "button", dir: "auto", click: () => openDocument(row.document_id, row) }, title(row)),
        h("span", { class: "where" }, `${figure(row.score)} · ${note(row)}`))))) : h("p", { class: "empty" }, "Nothing was found."));
}

function lines(pairs, lists) {
  const height = ROW * Math.max(lists[0].length, lists[1].length);
  const middle = (place) => ROW * (place + 0.5);
  return svg("svg", { class: "between", viewBox: `0 0 ${GAP} ${height}`, width: GAP, height, "aria-hidden": "true" },
    pairs.map(({ left, right, color }) => svg("path", { "--hue": color,
      d: `M0,${middle(left)} C${GAP / 2},${middle(left)} ${GAP / 2},${middle(right)} ${GAP},${middle(right)}` })));
}
