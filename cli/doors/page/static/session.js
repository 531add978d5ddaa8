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

/** Send JSON and yield what the events that come back hold, each as it comes. */
export async function* events(path, body, signal) {
  const response = await send(path, { method: "POST", body: JSON.stringify(body), signal });
  let rest = "";
  for await (const piece of pieces(response.body.pipeThrough(new TextDecoderStream()))) {
    const whole = (rest + piece).split("\n\n");
    rest = whole.pop();
    for (const event of whole) yield JSON.parse(event.slice("data: ".length));
  }
}

/** Yield what a stream holds; who stops before its end cancels it. */
async function* pieces(stream) {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    await reader.cancel();
  }
}

const call = async (path, options) => (await send(path, options)).json();

async function send(path, options) {
  const headers = { "Content-Type": "application/json", Authorization: `Page ${kept()?.key ?? ""}` };
  const response = await fetch(path, { ...options, headers, cache: "no-store" });
  if (!response.ok) throw new Refused(await response.json());
  return response;
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEPT));
  } catch {
    return null;
  }
}
