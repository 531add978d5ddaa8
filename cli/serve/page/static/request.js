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

/** Write the state into the address, so that a reload or a bookmark brings it back. */
export function keepInAddress() {
  const kept = {};
  if (search.query) kept.q = search.query;
  if (search.profile) kept.profile = search.profile;
  if (search.other) kept.beside = search.other;
  if (search.chosen.size) kept.filter = JSON.stringify([...search.chosen]);
  if (search.since) kept.since = search.since;
  if (search.until) kept.until = search.until;
  const text = new URLSearchParams(kept).toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname);
}

/** Take the state from the address; what it does not say stays. */
export function readAddress() {
  const kept = new URLSearchParams(location.hash.slice(1));
  search.query = kept.get("q") ?? "";
  search.profile = kept.get("profile");
  search.other = kept.get("beside");
  search.since = kept.get("since") ?? "";
  search.until = kept.get("until") ?? "";
  try {
    search.chosen = new Map(JSON.parse(kept.get("filter") ?? "[]"));
  } catch {
    search.chosen = new Map();
  }
}
