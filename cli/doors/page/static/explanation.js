// How a row came to its place: what its score is made of, and its way through the lists.

import { fill, h } from "./dom.js";
import { drawFlow, drawMovement } from "./pictures.js";
import { post } from "./session.js";
import { figure, milliseconds } from "./words.js";

const explained = new Map(); // the last search's explanation, for all of its rows

/** Put a row's explanation into its body. */
export async function showExplanation(body, row, asked) {
  fill(body, h("p", { class: "small" }, "Explaining …"));
  try {
    const found = await explanationOf(asked);
    const result = found.results.find((one) => one.chunk_id === row.chunk_id);
    fill(body, result ? explanation(found, result) : h("p", { class: "small" }, "The search has changed since."));
  } catch (error) {
    fill(body, h("p", { class: "small" }, error.message));
  }
}

/** Return what /page/explain says of a search, asked once for all rows. */
function explanationOf(asked) {
  const key = JSON.stringify(asked);
  if (!explained.has(key)) {
    explained.clear();
    const answer = post("/page/explain", asked);
    answer.catch(() => explained.delete(key));
    explained.set(key, answer);
  }
  return explained.get(key);
}

function explanation(found, result) {
  const movement = scroll("How it moved", drawMovement(found.movements.wide, "wide", result.rank),
    drawMovement(found.movements.slim, "slim", result.rank));
  const flow = scroll("How the search ran", drawFlow(found.flows.wide, "wide"), drawFlow(found.flows.tall, "tall"));
  return [
    h("h4", {}, "What the score is made of"), parts(result),
    h("h4", {}, "How it moved"), movement,
    h("details", { class: "more" }, h("summary", {}, `How the search ran, in ${milliseconds(found.total_ms)}`), flow),
  ];
}

/** Hold what may be wider than there is room; a keyboard scrolls it, too. */
const scroll = (label, ...children) => h("div", { class: "picture scroll", role: "group", tabindex: 0, "aria-label": label }, children);

function parts(result) {
  const head = ["found by", "rank", "raw score", "weight", "adds"];
  return scroll("What the score is made of", h("table", { class: "parts" },
    h("thead", {}, h("tr", {}, head.map((name, place) => h("th", { scope: "col", class: place ? "number" : null }, name)),
      h("th", { scope: "col", class: "track" }, h("span", { class: "unseen" }, "share of the score")))),
    h("tbody", {}, result.parts.map(part),
      h("tr", { class: "total" }, h("th", { scope: "row" }, "score"), h("td", {}), h("td", {}), h("td", {}),
        h("td", { class: "number" }, figure(result.score)), h("td", { class: "track" }, bar(0, result.score))))));
}

function part(row) {
  const takes = row.adds < 0 ? " takes" : "";
  return h("tr", { class: `arm-${row.family}${takes}` }, h("th", { scope: "row" }, row.label),
    h("td", { class: "number" }, row.rank === null ? "–" : String(row.rank)),
    h("td", { class: "number" }, short(row.raw)), h("td", { class: "number" }, short(row.weight)),
    h("td", { class: "number" }, figure(row.adds)), h("td", { class: "track" }, bar(row.start, row.width)));
}

const short = (value) => (value === null ? "–" : String(Number(value.toPrecision(4))));

const bar = (start, width) =>
  h("span", { class: "bar" }, h("i", { "--start": `${start * 100}%`, "--width": `${width * 100}%` }));
