// How texts and numbers of a search are written for people.

import { h } from "./dom.js";

const ENTITIES = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&#x27;": "'" };

/** Return a snippet's pieces, hits as <mark>: the snippet is HTML with its text escaped. */
export function snippet(html) {
  const pieces = html.split(/<\/?mark>/);
  return pieces.map((piece, place) => {
    const text = piece.replace(/&(?:amp|lt|gt|quot|#39|#x27);/g, (entity) => ENTITIES[entity]);
    return place % 2 ? h("mark", {}, text) : text;
  });
}

/** Return a result's name: its title, or else its key. */
export const title = (row) => oneLine(row.title || row.source_key || row.uri || "") || `document ${row.document_id}`;

/** Return where a passage stands: collection, file, lines or pages. */
export function place(row) {
  const name = oneLine(row.source_key || row.uri || "");
  const [start, end] = [row.start_line, row.end_line];
  let lines = "";
  if (start !== null && start !== undefined) lines = end && end !== start ? `:${start}–${end}` : `:${start}`;
  else if (row.pages?.length) lines = `, page ${row.pages[0]}`;
  return `${row.collection} · ${name}${lines}`;
}

export const oneLine = (text) => text.replace(/\s+/g, " ").trim();

export const milliseconds = (value) => (value >= 1000 ? `${(value / 1000).toFixed(2)} s` : `${value.toFixed(0)} ms`);

export const figure = (value, digits = 3) => (value === null || value === undefined ? "–" : value.toFixed(digits));

/** Write a value of metadata: a text as it is, dates by day, all else as JSON. */
export const valueText = (value) => {
  if (value === null) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
};

/** Go from violet for the first result to green for the last, as the explained search does. */
export const hue = (index, count) => Math.round(292 - (150 * index) / Math.max(count - 1, 1));
