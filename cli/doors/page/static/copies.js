// A search of the page, written for elsewhere.

/** Write it as SQL, for any client of the database. */
export function asSql(asked) {
  const named = {
    query: text(asked.query),
    result_limit: String(asked.limit),
    ...(asked.filter && { filter: text(JSON.stringify(asked.filter)) }),
    ...(asked.profile && { profile: text(asked.profile) }),
    ...(asked.options && { options: text(JSON.stringify(asked.options)) }),
  };
  const lines = Object.entries(named).map(([name, value]) => `    ${name} => ${value}`);
  return `SELECT rank, score, title, snippet FROM blend.hybrid_search(\n${lines.join(",\n")});\n`;
}

const text = (value) => (value.includes("\\") ? "E" : "") + `'${value.replaceAll("'", "''").replaceAll("\\", "\\\\")}'`;

/** Write it as a call with curl; the token is one of `pgblend serve token make`. */
export function asCurl(asked) {
  const shell = (value) => `'${value.replaceAll("'", "'\\''")}'`;
  return [`curl ${location.origin}/v1/search`, `-H "Authorization: Bearer $TOKEN"`, `-H "Content-Type: application/json"`,
    `-d ${shell(JSON.stringify(asked))}`].join(" \\\n    ") + "\n";
}

/** Write it in Python. */
export function asPython(asked) {
  return `import json
import os

import httpx

asked = json.loads(${JSON.stringify(JSON.stringify(asked))})
headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
found = httpx.post("${location.origin}/v1/search", json=asked, headers=headers).raise_for_status().json()
for row in found["results"]:
    print(row["rank"], round(row["score"], 3), row["title"])
`;
}
