// The keyboard: from the box to the rows, from row to row, and into one.

import { byId } from "./dom.js";

const STEPS = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
const CLICKS = { e: ".explain", o: ".title" };

/** Listen for the keys that the foot of the page names. */
export function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const isTyping = event.target.matches("input, select, textarea");
    const inBox = event.target === byId("query");
    if (event.key === "/" && !isTyping) take(event, () => byId("query").select());
    else if (event.key === "ArrowDown" && inBox) take(event, () => step(1));
    else if (isTyping) return;
    else if (event.key in STEPS) take(event, () => step(STEPS[event.key]));
    else if (event.key in CLICKS) take(event, () => current()?.querySelector(CLICKS[event.key])?.click());
  });
}

function take(event, act) {
  event.preventDefault();
  act();
}

const current = () => document.activeElement?.closest(".row") ?? null;

function step(by) {
  const rows = [...document.querySelectorAll(".rows > .row")];
  const at = rows.indexOf(current());
  if (at + by < 0) byId("query").focus();
  else rows[Math.min(at + by, rows.length - 1)]?.focus();
}
