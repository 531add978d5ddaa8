// What is searched for: the state of the page, and the body of a call that it makes.

export const search = {
  query: "",
  limit: 10,
  profile: null, // null: the database's default
  other: null, // the profile beside it
  chosen: new Map(), // values by key: all of one key are joined by or
  since: "",
  until: "",
  weights: {},
};

/** Return the body of /v1/search; `changes` go over it. */
export function body(changes = {}) {
  const { weights = search.weights, ...rest } = changes;
  const given = { query: search.query, limit: search.limit, ...rest };
  const filter = filterWithout(null);
  const options = { ...(Object.keys(weights).length && { weights }), ...changes.options };
  const profile = "profile" in changes ? changes.profile : search.profile;
  if (filter) given.filter ??= filter;
  if (profile) given.profile = profile;
  if (Object.keys(options).length) given.options = options;
  return given;
}

/** Return the body of the same search by words alone, which asks no model. */
export const lexicalBody = () => body({ options: { mode: "fast", weights: { ...search.weights, vector: 0 } } });

/** Make a body that of what somebody still types: no model but that of vectors is asked, and the log counts no search. */
export const typed = (asked) => ({ ...asked, purpose: "typed" });

/** Return the filter but for what is chosen of one key; null where nothing is chosen. */
export function filterWithout(leftOut) {
  const conditions = [...search.chosen].filter(([key]) => key !== leftOut).map(([key, values]) => condition(key, values));
  if (search.since || search.until) {
    conditions.push({ $date: { ...(search.since && { gte: search.since }), ...(search.until && { lte: search.until }) } });
  }
  if (!conditions.length) return null;
  return conditions.length === 1 ? conditions[0] : { and: conditions };
}

function condition(key, values) {
  const told = values.filter((value) => value !== null);
  const parts = [];
  if (told.length) parts.push({ [key]: told.length === 1 ? { eq: told[0] } : { in: told } });
  if (told.length < values.length) parts.push({ [key]: { exists: false } });
  return parts.length === 1 ? parts[0] : { or: parts };
}

/** Choose a value of a key, or leave it; values are compared as JSON. */
export function toggle(key, value) {
  const values = search.chosen.get(key) ?? [];
  const rest = values.filter((one) => JSON.stringify(one) !== JSON.stringify(value));
  const now = rest.length === values.length ? [...values, value] : rest;
  if (now.length) search.chosen.set(key, now);
  else search.chosen.delete(key);
}

export const isChosen = (key, value) =>
  (search.chosen.get(key) ?? []).some((one) => JSON.stringify(one) === JSON.stringify(value));

let settled = null; // the search that the newest entry of the history stands for, once it was shown

/** Note that the search of the address was shown; `isEntered`: with all models. */
export function settle(isEntered) {
  settled = { query: search.query, address: address(), isEntered };
  history.replaceState({ isEntered }, "", settled.address);
}

/** Whether the address holds a search that all models were asked for, or that somebody linked to. */
export const wasEntered = () => history.state?.isEntered ?? true;

/**
 * Write the state into the address, so that a reload or a bookmark brings it back.
 *
 * `how`: "typed" makes an entry of its own for Back where the words are others than those shown,
 * "changed" always, "adjusted" never.
 */
export function keepInAddress(how) {
  const now = address();
  if (settled && settled.address !== now && (how === "changed" || (how === "typed" && isOther()))) {
    history.replaceState({ isEntered: settled.isEntered }, "", settled.address);
    history.pushState({ isEntered: false }, "", now);
    settled = null;
  } else {
    history.replaceState({ isEntered: history.state?.isEntered ?? false }, "", now);
  }
}

/** Tell whether the words are no longer the beginning, or the continuation, of those shown. */
function isOther() {
  const [one, other] = [settled.query.trim(), search.query.trim()];
  return one !== other && (settled.isEntered || !other || !(one.startsWith(other) || other.startsWith(one)));
}

function address() {
  const kept = {};
  if (search.query) kept.q = search.query;
  if (search.profile) kept.profile = search.profile;
  if (search.other) kept.beside = search.other;
  if (search.chosen.size) kept.filter = JSON.stringify([...search.chosen]);
  if (search.since) kept.since = search.since;
  if (search.until) kept.until = search.until;
  if (Object.keys(search.weights).length) kept.weights = JSON.stringify(search.weights);
  const text = new URLSearchParams(kept).toString();
  return text ? `#${text}` : location.pathname;
}

/** Take the state from the address; what it does not say is as at the beginning. */
export function readAddress() {
  const kept = new URLSearchParams(location.hash.slice(1));
  search.query = kept.get("q") ?? "";
  search.profile = kept.get("profile");
  search.other = kept.get("beside");
  search.since = kept.get("since") ?? "";
  search.until = kept.get("until") ?? "";
  search.chosen = new Map(asJson(kept.get("filter"), Array.isArray, []));
  search.weights = asJson(kept.get("weights"), isWeights, {});
}

const isWeights = (value) => value !== null && typeof value === "object" && Object.values(value).every(Number.isFinite);

function asJson(text, isFit, otherwise) {
  try {
    const value = JSON.parse(text);
    return isFit(value) ? value : otherwise;
  } catch {
    return otherwise;
  }
}

/** Tell whether filters narrow the search. */
export const isFiltered = () => filterWithout(null) !== null;

/** Take all filters away. */
export function clearFilters() {
  search.chosen = new Map();
  search.since = search.until = "";
}
