// Thumbs: what one says of a row is a judgement of its document for the query.

import { byId, h, svg } from "./dom.js";
import { hasScope, post } from "./session.js";

const THUMBS = [[1, "up", "Good answer"], [0, "down", "No answer"]];
const THUMB = "M2 8h3v7H2zM6.2 8 9 2c1.2 0 2 .9 2 2v3h4c.9 0 1.5.8 1.3 1.7l-1 5c-.2.8-.8 1.3-1.6 1.3H6.2z";

let grades = new Map(); // of the query that is shown, by collection and key

const keyOf = ({ collection, source_key: key }) => `${collection}\n${key}`;

/** Read what was said before of a query's documents. */
export async function readGrades(query, signal) {
  const { judgements } = await post("/page/judgements", { query }, signal);
  grades = new Map(judgements.map((one) => [keyOf(one), one.grade]));
  for (const buttons of document.querySelectorAll(".thumbs")) show(buttons);
}

/** Return two buttons for a row; nothing for who may not judge. */
export function thumbs(row, query, mayWrite) {
  if (!mayWrite || !hasScope("feedback")) return null;
  const group = h("span", { class: "thumbs", role: "group", "aria-label": "Judge", "data-key": keyOf(row) });
  group.append(...THUMBS.map(([grade, sign, label]) =>
    h("button", { class: "quiet", type: "button", "aria-label": label, title: label, "data-grade": grade,
      click: () => judge(group, row, query, grade) }, svg("svg", { class: sign, viewBox: "0 0 18 17", width: 15, height: 14, "aria-hidden": "true" }, svg("path", { d: THUMB })))));
  show(group);
  return group;
}

/** Note a grade, or take the same one back. */
async function judge(group, row, query, grade) {
  const isSame = grades.get(keyOf(row)) === grade;
  try {
    await post("/page/judge", { query, chunk_id: row.chunk_id, grade: isSame ? null : grade });
    if (isSame) grades.delete(keyOf(row));
    else grades.set(keyOf(row), grade);
  } catch (error) {
    byId("status").textContent = group.title = error.message;
    group.classList.add("refused");
  }
  for (const buttons of document.querySelectorAll(".thumbs")) show(buttons);
}

function show(group) {
  const grade = grades.get(group.dataset.key);
  for (const button of group.children) button.setAttribute("aria-pressed", String(Number(button.dataset.grade) === grade));
}
