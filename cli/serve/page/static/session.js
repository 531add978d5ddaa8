// The browser's right to search: half of a token is a cookie that no script sees, half is kept here.

const KEPT = "pgblend";
const LINK = "#open=";

/** What the server refused, in its words, and what to do about it. */
export class Refused extends Error {
  constructor(problem) {
    super(problem.detail);
    this.hint = problem.hint ?? "";
  }
}

/** Open the link that the address holds, if any; return whether this browser may search at all. */
export async function enter() {
  if (location.hash.startsWith(LINK)) {
    const link = location.hash.slice(LINK.length);
    history.replaceState(null, "", location.pathname); // not in the history, not in a bookmark
    const opened = await post("/page/session", { link });
    localStorage.setItem(KEPT, JSON.stringify({ key: opened.key, scopes: opened.scopes }));
  }
  return kept() !== null;
}

export const hasScope = (scope) => kept()?.scopes.includes(scope) ?? false;

/** Send JSON and return the JSON that comes back; a Refused for anything else. */
export const post = (path, body, signal) => call(path, { method: "POST", body: JSON.stringify(body), signal });

export const get = (path) => call(path, {});

async function call(path, options) {
  const headers = { "Content-Type": "application/json", Authorization: `Page ${kept()?.key ?? ""}` };
  const response = await fetch(path, { ...options, headers, cache: "no-store" });
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer);
  return answer;
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEPT));
  } catch {
    return null;
  }
}
