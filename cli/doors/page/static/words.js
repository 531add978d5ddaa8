// How texts and numbers of a search are written for people.

import { h } from "./dom.js";

const ENTITIES = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&#x27;": "'" };

/** Return a snippet's pieces, hits as <mark>: the snippet is HTML with its text escaped. */
export function snippet(html) {
  const pieces = html.split(/<\/?mark>/);
  return pieces.map((piece, place) => {
    const text = plainText(piece);
    return place % 2 ? h("mark", {}, text) : text;
  });
}

/** Return an escaped text as it was. */
export const plainText = (html) => html.replace(/&(?:amp|lt|gt|quot|#39|#x27);/g, (entity) => ENTITIES[entity]);

const PROGRAM = /\.(?:py|pyi|js|mjs|ts|tsx|jsx|c|h|cc|cpp|hpp|cs|go|rs|java|kt|swift|rb|php|pl|lua|r|sh|bash|sql|ps1|css|json|ya?ml|toml|ini|conf|log|csv|tsv)$/i;

/** Tell whether a passage is of a program or of data, whose marks are no Markdown. */
export const isCode = (row) => PROGRAM.test(row.source_key || row.uri || "");

/** Return a snippet without the marks of Markdown: its words stay, and so do its hits. */
export const withoutMarkdown = (html) => html
  .replace(/!?\[((?:[^[\]]|\[[^[\]]*\])*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s[^()]*)?\)/g, "$1") // links
  .replace(/\[\[(?:[^[\]|]*\|)?([^[\]|]+)\]\]/g, "$1")
  .replace(/\[([^[\]]+)\]\[[^[\]]*\]/g, "$1")
  .replace(/\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{3,}:?)?/g, " ").replace(/\s*\|\s*/g, " ") // tables
  .replace(/(^|\s)(?:#{1,6}|&gt;|>|[-*+]|\d+\.)(?=\s)/g, "$1") // headings, quotations, items
  .replace(/(^|\s)\[[ xX]\](?=\s)/g, "$1") // tasks
  .replace(/(^|\s)\[[^[\]\s]+\]:\s+\S+/g, "$1") // what links by name lead to
  .replace(/(^|\s)(?:={3,}|(?:[*_-] ?){3,})(?=\s|$)/g, "$1") // lines below headings, rules
  .replace(/`+|\*\*|~~/g, "")
  .replace(/(^|[\s(>])[*_]+(?=[^\s*_])/g, "$1").replace(/([^\s*_])[*_]+(?=[\s).,;:!?<]|$)/g, "$1")
  .replace(/\\([!-/:-@[-`{-~])/g, "$1");

/** Return a text of several lines without the marks of Markdown; code in it stays as it is. */
export function linesWithoutMarkdown(text) {
  let isCode = false;
  return text.split("\n").flatMap((line) => {
    if (/^\s*(?:```|~~~)/.test(line)) {
      isCode = !isCode;
      return [];
    }
    return [isCode || /^(?: {4}|\t)/.test(line) ? line : withoutMarkdown(line)];
  }).join("\n");
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
