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

/** Return a text as it is written in HTML. */
const asHtml = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const PROGRAM = /\.(?:py|pyi|js|mjs|ts|tsx|jsx|c|h|cc|cpp|hpp|cs|go|rs|java|kt|swift|rb|php|pl|lua|r|sh|bash|sql|ps1|css|json|ya?ml|toml|ini|conf|log|csv|tsv)$/i;

/** Tell whether a passage is of a program or of data, whose marks are no Markdown. */
export const isCode = (row) => PROGRAM.test(row.source_key || row.uri || "");

// Signs of code and escaped signs wait in Unicode's last private area, where no pattern finds them.
const PRIVATE = 0x10fe00;
const hidden = (text) => text.replace(/<\/?mark>|[!-/:-@[-`{-~]/g, (sign) => (sign.length > 1 ? sign : String.fromCodePoint(PRIVATE + sign.charCodeAt(0))));
const shown = (text) => text.replace(/[\u{10fe21}-\u{10fe7e}]/gu, (sign) => String.fromCodePoint(sign.codePointAt(0) - PRIVATE));

const INLINE = "a|abbr|b|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strong|su[bp]|u|var|wbr";
const BLOCK = "br|center|dd|details|div|dl|dt|h[1-6]|hr|img|li|ol|p|picture|pre|source|summary|table|tbody|td|tfoot|th|thead|tr|ul";
const tags = (names) => new RegExp(`&lt;/?(?:${names})(?:\\s(?:(?!&gt;)[^<])*)?/?&gt;`, "gi");
const [INLINE_TAGS, BLOCK_TAGS] = [tags(INLINE), tags(BLOCK)];

/** Return a snippet without the marks of Markdown and HTML: its words stay, and so do its hits. */
export const withoutMarkdown = (html) => shown(html
  .replace(/(^|\s)(`{3,}|~{3,})[\w+#.-]*(\s.*?\s)\2(?=\s|$)/gs, (_, before, marks, code) => before + hidden(code))
  .replace(/(^|\s)(?:`{3,}|~{3,})[\w+#.-]*(?=\s|$)/g, "$1") // one fence, with its language
  .replace(/(^|[^`\\])(`{1,2})(?!`)(.+?)\2(?!`)/g, (_, before, marks, code) => before + hidden(code))
  .replace(/\\([!-/:-@[-`{-~])/g, (_, sign) => hidden(sign))
  .replace(/&lt;!--.*?--&gt;/gs, "").replace(INLINE_TAGS, "").replace(BLOCK_TAGS, " ")
  .replace(/&amp;(?:nbsp|#160);/g, " ").replace(/&amp;(amp|lt|gt|quot|#39);/g, "&$1;")
  .replace(/&lt;((?:[a-z][a-z0-9+.-]+:|[^\s&@]+@)(?:(?!&[lg]t;)\S)*)&gt;/gi, "$1") // addresses
  .replace(/\[\^[^[\]\s]+\]:?/g, "") // footnotes
  .replace(/!?\[((?:[^[\]]|\[[^[\]]*\])*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s[^()]*)?\)/g, "$1") // links
  .replace(/\[\[(?:[^[\]|]*\|)?([^[\]|]+)\]\]/g, "$1")
  .replace(/\[([^[\]]+)\]\[[^[\]]*\]/g, "$1")
  .replace(/\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?)?/g, " ").replace(/\s*\|\s*/g, " ") // tables
  .replace(/(^|\s)(?:#{1,6}|&gt;|>|[-*+]|\d+\.)(?=\s)/g, "$1") // headings, quotations, items
  .replace(/(^|\s)\[[ xX]\](?=\s)/g, "$1") // tasks
  .replace(/(^|\s)\[!(\w+)\](?=\s|$)/g, "$1$2").replace(/(^|\s):{3,}[\w-]*(?=\s|$)/g, "$1") // callouts
  .replace(/(^|\s)\[[^[\]\s]+\]:\s+\S+/g, "$1") // what links by name lead to
  .replace(/(^|\s)(?:={3,}|[-+]{3,}|(?:[*_-] ?){3,})(?=\s|$)/g, "$1") // lines below headings, rules
  .replace(/`+|\*\*|~~/g, "")
  .replace(/(^|\s)==(\S(?:[^=]*\S)?)==(?=[\s.,;:!?)]|$)/g, "$1$2").replace(/(\w)~(\w{1,9})~/g, "$1$2")
  .replace(/(^|[\s(>])[*_]+(?=[^\s*_])/g, "$1").replace(/([^\s*_])[*_]+(?=[\s).,;:!?<]|$)/g, "$1"));

/**
 * Return what writes texts without the marks of Markdown, line by line; code stays as it is.
 *
 * It is called with the passages of a document in their order, for code goes on over their ends.
 */
export function markdownReader() {
  let isCode = false;
  return (text) => text.split("\n").flatMap((line) => {
    if (/^\s*(?:```|~~~)/.test(line)) {
      isCode = !isCode;
      return [];
    }
    return [isCode || /^(?: {4}|\t)/.test(line) ? line : plainText(withoutMarkdown(asHtml(line)))];
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
