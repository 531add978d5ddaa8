"use strict";
// A result is drawn as a line, named in a list and told in a card: pointing at one marks all three.
const parts = document.querySelectorAll("[data-rank]");
const same = (rank) => document.querySelectorAll(`[data-rank="${rank}"]`);

function mark(rank) {
  document.body.classList.toggle("marking", rank !== null);
  for (const part of parts) part.classList.toggle("marked", part.dataset.rank === rank);
  if (rank === null) return;
  for (const part of same(rank)) {
    // The marked line goes on top of the others.
    if (part.classList.contains("way")) part.parentNode.append(part);
  }
}

function show(rank) {
  const card = document.getElementById(`result-${rank}`);
  card.open = true;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  card.scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
  card.querySelector("summary").focus({ preventScroll: true });
}

for (const part of parts) {
  const rank = part.dataset.rank;
  part.addEventListener("pointerenter", () => mark(rank));
  part.addEventListener("pointerleave", () => mark(null));
  part.addEventListener("focusin", () => mark(rank));
  part.addEventListener("focusout", () => mark(null));
  if (part.id) continue;
  part.addEventListener("click", (event) => {
    event.preventDefault();
    show(rank);
  });
}

if (/^#result-\d+$/.test(location.hash)) document.querySelector(location.hash)?.setAttribute("open", "");
else document.querySelector(".result")?.setAttribute("open", "");
